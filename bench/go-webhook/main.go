// The peer of the admission benchmark: the rules of PostgreSQLTenant as a controller-runtime webhook, the way its
// documentation shows it (typed objects, a custom validator, field errors).
//
// It judges what the benchmark sends as Tenantry does: form of every field, derived names, reserved names, what may not
// change. It has no cluster: Tenantry's caches answer from memory too.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

var groupVersion = schema.GroupVersion{Group: "database.ddupan.top", Version: "v1alpha1"}

type Credential struct {
	SecretName string `json:"secretName,omitempty"`
}

type TenantSpec struct {
	InstanceRef    string      `json:"instanceRef"`
	Database       string      `json:"database,omitempty"`
	LoginRole      string      `json:"loginRole,omitempty"`
	Extensions     []string    `json:"extensions,omitempty"`
	Credential     *Credential `json:"credential,omitempty"`
	DeletionPolicy string      `json:"deletionPolicy,omitempty"`
}

type SecretRef struct {
	Name string `json:"name,omitempty"`
}

type CredentialStatus struct {
	SecretRef  *SecretRef `json:"secretRef,omitempty"`
	OpenBaoURL string     `json:"openBaoURL,omitempty"`
}

type TenantStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	Database           string             `json:"database,omitempty"`
	LoginRole          string             `json:"loginRole,omitempty"`
	DatabaseOID        uint32             `json:"databaseOID,omitempty"`
	Credential         *CredentialStatus  `json:"credential,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type PostgreSQLTenant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              TenantSpec   `json:"spec"`
	Status            TenantStatus `json:"status,omitempty"`
}

// DeepCopyObject makes the type a runtime.Object; the webhook never copies one.
func (t *PostgreSQLTenant) DeepCopyObject() runtime.Object {
	copied := *t
	t.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Spec.Extensions = slices.Clone(t.Spec.Extensions)
	copied.Status.Conditions = slices.Clone(t.Status.Conditions)
	return &copied
}

func (t *PostgreSQLTenant) database() string { return orName(t.Spec.Database, t.Name) }
func (t *PostgreSQLTenant) role() string     { return orName(t.Spec.LoginRole, t.Name) }
func (t *PostgreSQLTenant) secret() string {
	if t.Spec.Credential != nil && t.Spec.Credential.SecretName != "" {
		return t.Spec.Credential.SecretName
	}
	return t.Spec.InstanceRef + "-" + t.Name + "-postgresql"
}

func orName(value, name string) string {
	if value != "" {
		return value
	}
	return name
}

var (
	identifier = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
	extension  = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	databases  = []string{"postgres", "template0", "template1", "rdsadmin", "cloudsqladmin", "azure_sys", "azure_maintenance", "pgbouncer"}
	roles      = []string{"public", "none", "user", "current_user", "session_user", "current_role", "all", "postgres", "rds_superuser", "cloudsqlsuperuser", "azure_pg_admin"}
)

type validator struct{}

func (validator) ValidateCreate(_ context.Context, tenant *PostgreSQLTenant) (admission.Warnings, error) {
	return answer(tenant, form(tenant))
}

func (validator) ValidateUpdate(_ context.Context, old, tenant *PostgreSQLTenant) (admission.Warnings, error) {
	return answer(tenant, append(frozen(old, tenant), form(tenant)...))
}

func (validator) ValidateDelete(context.Context, *PostgreSQLTenant) (admission.Warnings, error) {
	return nil, nil
}

func answer(tenant *PostgreSQLTenant, found field.ErrorList) (admission.Warnings, error) {
	if len(found) > 0 {
		kind := groupVersion.WithKind("PostgreSQLTenant").GroupKind()
		return nil, apierrors.NewInvalid(kind, tenant.Name, found)
	}
	if tenant.Spec.DeletionPolicy == "Delete" {
		return admission.Warnings{"spec.deletionPolicy is Delete: deleting this tenant destroys database " + tenant.database()}, nil
	}
	return nil, nil
}

func form(tenant *PostgreSQLTenant) field.ErrorList {
	var found field.ErrorList
	spec := field.NewPath("spec")
	for _, message := range validation.IsDNS1123Subdomain(tenant.Spec.InstanceRef) {
		found = append(found, field.Invalid(spec.Child("instanceRef"), tenant.Spec.InstanceRef, message))
	}
	if len(tenant.Spec.InstanceRef)+len(tenant.Name) > 241 {
		found = append(found, field.Invalid(spec.Child("instanceRef"), tenant.Spec.InstanceRef, "too long with the name"))
	}
	if !identifier.MatchString(tenant.database()) {
		found = append(found, field.Invalid(spec.Child("database"), tenant.database(), "must be a PostgreSQL identifier"))
	}
	if slices.Contains(databases, tenant.database()) {
		found = append(found, field.Forbidden(spec.Child("database"), "is reserved"))
	}
	if !identifier.MatchString(tenant.role()) {
		found = append(found, field.Invalid(spec.Child("loginRole"), tenant.role(), "must be a PostgreSQL identifier"))
	}
	if slices.Contains(roles, tenant.role()) || strings.HasPrefix(tenant.role(), "pg_") {
		found = append(found, field.Forbidden(spec.Child("loginRole"), "is reserved"))
	}
	for _, message := range validation.IsDNS1123Subdomain(tenant.secret()) {
		found = append(found, field.Invalid(spec.Child("credential", "secretName"), tenant.secret(), message))
	}
	seen := map[string]bool{}
	for position, name := range tenant.Spec.Extensions {
		path := spec.Child("extensions").Index(position)
		if !extension.MatchString(name) {
			found = append(found, field.Invalid(path, name, "must be an extension's name"))
		}
		if seen[name] {
			found = append(found, field.Duplicate(path, name))
		}
		seen[name] = true
	}
	if policy := tenant.Spec.DeletionPolicy; policy != "" && policy != "Retain" && policy != "Delete" {
		found = append(found, field.NotSupported(spec.Child("deletionPolicy"), policy, []string{"Retain", "Delete"}))
	}
	return found
}

func frozen(old, tenant *PostgreSQLTenant) field.ErrorList {
	var found field.ErrorList
	spec := field.NewPath("spec")
	status := old.Status
	if old.DeletionTimestamp != nil || status.Phase == "Deleting" {
		return field.ErrorList{field.Forbidden(spec, "the object is being deleted")}
	}
	if status.Phase == "" || status.Phase == "Pending" || status.Phase == "Planned" {
		return nil
	}
	fixed := func(name, wanted, created string) {
		if created != "" && wanted != created {
			found = append(found, field.Forbidden(spec.Child(name), "may not change once created: it is "+created))
		}
	}
	fixed("instanceRef", tenant.Spec.InstanceRef, old.Spec.InstanceRef)
	fixed("database", tenant.database(), status.Database)
	fixed("loginRole", tenant.role(), status.LoginRole)
	if status.Credential != nil && status.Credential.SecretRef != nil {
		fixed("credential.secretName", tenant.secret(), status.Credential.SecretRef.Name)
	}
	for _, name := range old.Spec.Extensions {
		if !slices.Contains(tenant.Spec.Extensions, name) {
			found = append(found, field.Forbidden(spec.Child("extensions"), name+" may not be removed"))
		}
	}
	return found
}

func main() {
	port := flag.Int("port", 0, "port on loopback")
	certificate := flag.String("cert", "", "serving certificate, PEM")
	key := flag.String("key", "", "its key, PEM")
	path := flag.String("path", "/", "URL path")
	flag.Parse()
	ctrl.SetLogger(zap.New())

	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &PostgreSQLTenant{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	server := webhook.NewServer(webhook.Options{
		Host:     "127.0.0.1",
		Port:     *port,
		CertDir:  filepath.Dir(*certificate),
		CertName: filepath.Base(*certificate),
		KeyName:  filepath.Base(*key),
	})
	server.Register(*path, admission.WithValidator[*PostgreSQLTenant](scheme, validator{}))
	if err := server.Start(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
