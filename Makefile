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
bed: setup ## start the test bed, or find it running, and print what to export (NODE=1: with a node that runs pods)
	@if [ -z "$(NODE)" ]; then exec $(bed) up; fi
	reason=$$(e2e/bed/node.sh possible) || { echo "no node can run here: $$reason" >&2; exit 1; }
	$(bed) up --node

.PHONY: image
image: setup ## build the container image into target/image/tenantry.tar
	@e2e/bed/image.sh

.PHONY: golden
golden: setup ## write the chart's golden renderings anew
	@UPDATE_GOLDEN=1 cargo test --quiet -p tenantry-e2e --features tenantry/failpoints --test stories the_chart_renders_its_golden_files

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
