# The ledger, on its embedded store unless COUNTERSIGN_STORE names another. Data lives in the volume /data. The keys lie in a volume of their own, so
# that no copy of the data holds them; a first start on the embedded store makes them, several ledgers on one store share them.
# A newer one: --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:... (docker buildx imagetools inspect node:24-bookworm-slim).
ARG NODE_IMAGE=node:24.20.0-bookworm-slim@sha256:ba849c60be29959425b8734d57b8b4b7d56f98edd9504c9af091d5281095a71e

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json biome.json ./
COPY scripts scripts
COPY schemas schemas
COPY projections projections
COPY src src
COPY test test
COPY bench bench
COPY examples examples
RUN npm ci && npm prune --omit=dev --ignore-scripts

FROM ${NODE_IMAGE}
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
RUN mkdir /data /keys && chown node:node /data /keys
USER node
ENV NODE_ENV=production COUNTERSIGN_DATA=/data COUNTERSIGN_KEYS=/keys/keys.json COUNTERSIGN_HOST=0.0.0.0
VOLUME ["/data", "/keys"]
EXPOSE 7070
# Whether the process lives: a full disk or a store that is away is no reason to start it again. /readyz is for the balancer.
# A start that reads a large store through listens after a second; the period is for a machine that is slow to start anything.
HEALTHCHECK --start-period=30s --interval=10s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:7070/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Room for young objects: under load a sixth more appends a second, for some 100 MiB of memory.
ENTRYPOINT ["node", "--max-semi-space-size=64", "dist/programs/countersign.js"]
CMD ["serve"]
