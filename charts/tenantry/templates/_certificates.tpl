{{/* Where the serving pair comes from: all that the certificate modes differ in, but cert-manager's own objects. */}}

{{/* The Secret with tls.crt, tls.key and ca.crt. */}}
{{- define "tenantry.servingSecret" -}}
{{- with .Values.certificates }}
{{- if eq .mode "existingSecret" }}
{{- required "certificates.existingSecret.name is empty: name the Secret with tls.crt and tls.key" .existingSecret.name }}
{{- else }}
{{- printf "%s-webhook-tls" (include "tenantry.fullname" $) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tenantry.certificateArguments" -}}
{{- if eq .Values.certificates.mode "selfSigned" -}}
- --self-signed
- --self-signed-secret={{ include "tenantry.servingSecret" . }}
- --self-signed-service={{ include "tenantry.fullname" . }}
{{- if .Values.webhook.enabled }}
- --webhook-configuration={{ include "tenantry.fullname" . }}
{{- end }}
{{- else -}}
- --tls-cert-file=/etc/tenantry/serving/tls.crt
- --tls-key-file=/etc/tenantry/serving/tls.key
{{- end }}
{{- end }}

{{/* How the API server reaches and trusts the webhook at `path`. */}}
{{- define "tenantry.clientConfig" -}}
{{- $values := .context.Values }}
{{- if $values.webhook.url -}}
url: {{ printf "%s%s" $values.webhook.url .path | quote }}
{{- with $values.webhook.caBundle }}
caBundle: {{ . }}
{{- end }}
{{- else -}}
service:
  namespace: {{ .context.Release.Namespace }}
  name: {{ include "tenantry.fullname" .context }}
  path: {{ .path }}
  port: 443
{{- if eq $values.certificates.mode "existingSecret" }}
caBundle: {{ required "webhook.caBundle is empty: with certificates.mode existingSecret give the authority of its certificate, PEM in base64" $values.webhook.caBundle }}
{{- end }}
{{- end }}
{{- end }}
