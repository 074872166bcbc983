{{/* Names and labels that every template shares. */}}

{{- define "tenantry.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The release's name, with the chart's unless it holds it already. */}}
{{- define "tenantry.fullname" -}}
{{- $name := include "tenantry.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "tenantry.serviceAccountName" -}}
{{- default (include "tenantry.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- define "tenantry.labels" -}}
app.kubernetes.io/name: {{ include "tenantry.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: controller
app.kubernetes.io/part-of: tenantry
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The labels by which the Service and the Deployment know their pods; they can never change. */}}
{{- define "tenantry.selector" -}}
app.kubernetes.io/name: {{ include "tenantry.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end }}

{{/* "true" if the chart runs the pods, "" if `webhook.url` says that the process is elsewhere. */}}
{{- define "tenantry.inCluster" -}}
{{- if not .Values.webhook.url }}true{{ end }}
{{- end }}

{{- define "tenantry.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The host name in the serving certificate. */}}
{{- define "tenantry.serviceHost" -}}
{{- printf "%s.%s.svc" (include "tenantry.fullname" .) .Release.Namespace }}
{{- end }}
