# The image of records-sync: worker, Records Service and every command, as a user without rights.
#
#   docker build -t records-sync .
#   docker run --stop-timeout 30 -v ./my-project:/project -e TEMPORAL_ADDRESS=temporal:7233 records-sync
#
# No secret goes into it: keys are files, variables or commands of the configuration. Debian, because the native parts of
# Temporal's SDK need glibc. docs/deploy.md says more.

ARG NODE=node:22.21.1-bookworm-slim

# What it runs on. Certificates: the slim image has none, and TLS to Temporal needs them (openssl comes with them).
FROM ${NODE} AS base
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates tini \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
# No package needs its install script.
ENV npm_config_ignore_scripts=true npm_config_update_notifier=false

FROM base AS packages
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM base AS build
COPY package.json package-lock.json .npmrc tsconfig.json tsconfig.build.json ./
COPY src src
COPY workflows workflows
COPY activities activities
COPY config config
RUN node src/dev/setup.mjs --build

FROM base
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY config/examples config/examples
COPY config/records-sync.schema.json config/
COPY --from=build /app/dist dist
RUN ln -s /app/dist/src/cli/main.js /usr/local/bin/records-sync \
  && install -d -o node -g node /project
ENV NODE_ENV=production
USER node
WORKDIR /project
ENTRYPOINT ["tini", "--", "records-sync"]
CMD ["worker"]
# Batches in flight may take 25 s: give it 30 before it is killed.
STOPSIGNAL SIGTERM
# For a worker whose configuration says `worker: { listen: "127.0.0.1:9464" }`; start others with --no-healthcheck.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9464/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
