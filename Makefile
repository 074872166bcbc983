# `make test` proves everything, `make demo` shows it. Both install what is missing first.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Major version of PostgreSQL in the test bed, 13 to 18.
PG ?= 15
export PG

bed := cargo run --quiet -p tenantry-e2e --bin bed --

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what the test bed needs (the first time about 13 minutes)
	@e2e/bed/setup.sh

.PHONY: bed
bed: setup ## start the test bed, or find it running, and print what to export
	@$(bed) up

.PHONY: bed-down
bed-down: ## stop the test bed
	@$(bed) down

.PHONY: demo
demo: setup ## show a tenant from `kubectl apply` to a login, on the test bed
	@e2e/bed/demo.sh

.PHONY: test
test: setup check ## every check and every test, on a test bed of its own (PG=13 … 18)
	@e2e/bed/test.sh

.PHONY: check
check: setup ## format, lints, each crate alone, purity of the domain, documentation, licences
	@e2e/bed/check.sh

.PHONY: fmt
fmt: ## format everything
	@cargo fmt --all
