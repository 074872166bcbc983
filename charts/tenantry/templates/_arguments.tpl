{{/* The command line of the process, and the volumes that it reads. Empty values leave the flag's own default. */}}

{{- define "tenantry.arguments" -}}
- run
- --bind-address=0.0.0.0:8443
{{ include "tenantry.certificateArguments" . }}
- --leader-elect
- --leader-elect-resource-name={{ include "tenantry.fullname" . }}
{{- with .Values.openbao }}
- --openbao-address={{ .address }}
{{- with .consumerAddress }}
- --openbao-consumer-address={{ . }}
{{- end }}
{{- with .namespace }}
- --openbao-namespace={{ . }}
{{- end }}
- --openbao-mount={{ .mount }}
- --openbao-base-path={{ .basePath }}
{{- if include "tenantry.authorityVolume" .ca }}
- --openbao-ca-file=/etc/tenantry/openbao-ca/ca.crt
{{- end }}
- --openbao-auth={{ .auth.method }}
{{- if eq .auth.method "token" }}
- --openbao-token-file=/etc/tenantry/openbao-token/token
{{- else }}
- --openbao-role={{ .auth.role }}
- --openbao-auth-mount={{ .auth.mount }}
{{- end }}
{{- end }}
{{- with .Values.postgresql }}
{{- if include "tenantry.authorityVolume" .ca }}
- --postgres-ca-file=/etc/tenantry/postgresql-ca/ca.crt
{{- end }}
{{- with .denyHostaddr }}
- --deny-hostaddr={{ join "," . }}
{{- end }}
{{- end }}
- --secret-store-name={{ .Values.externalSecrets.storeName }}
- --secret-store-kind={{ .Values.externalSecrets.storeKind }}
{{- with .Values.applications }}
{{- if .enabled }}
- --applications
- --default-repository={{ .defaultRepository }}
- --helm=/helm
- --bundle-dir=/var/lib/tenantry/packages
- --applications-service-account={{ .serviceAccountName }}
{{- if .enforceDestructiveSwitch }}
- --enforce-destructive-switch
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.controller }}
- --resync-interval={{ .resyncInterval }}
- --concurrency={{ .concurrency }}
- --shutdown-grace={{ .shutdownGrace }}
{{- end }}
- --log-format={{ .Values.log.format }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The source of a volume with ca.crt, from a value {configMapName, secretName, key}; "" for none. */}}
{{- define "tenantry.authorityVolume" -}}
{{- if .configMapName -}}
configMap:
  name: {{ .configMapName }}
  items: [{key: {{ .key | quote }}, path: ca.crt}]
{{- else if .secretName -}}
secret:
  secretName: {{ .secretName }}
  items: [{key: {{ .key | quote }}, path: ca.crt}]
{{- end }}
{{- end }}

{{- define "tenantry.volumes" -}}
{{- if ne .Values.certificates.mode "selfSigned" }}
- name: serving
  secret:
    secretName: {{ include "tenantry.servingSecret" . }}
{{- end }}
{{- with include "tenantry.authorityVolume" .Values.openbao.ca }}
- name: openbao-ca
  {{- . | nindent 2 }}
{{- end }}
{{- if eq .Values.openbao.auth.method "token" }}
- name: openbao-token
  secret:
    secretName: {{ required "openbao.auth.tokenSecretName is empty: name the Secret with OpenBao's token" .Values.openbao.auth.tokenSecretName }}
    items: [{key: {{ .Values.openbao.auth.tokenSecretKey | quote }}, path: token}]
{{- end }}
{{- with include "tenantry.authorityVolume" .Values.postgresql.ca }}
- name: postgresql-ca
  {{- . | nindent 2 }}
{{- end }}
{{- end }}
