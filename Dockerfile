# docker build -t toolyard .                     with the model mini:v1
# docker build -t toolyard --build-arg MINI= .   without it
FROM node:26-bookworm-slim AS build
ARG MINI=1
WORKDIR /src
COPY . .
RUN npm ci --no-audit --no-fund && node scripts/build.js \
  && mkdir /packages \
  && npm pack --ignore-scripts --pack-destination /packages . ./packages/core \
  && if [ -n "$MINI" ]; then npm pack --ignore-scripts --workspace packages/mini --pack-destination /packages; fi
WORKDIR /app
RUN npm install --no-audit --no-fund --omit=dev --omit=peer /packages/*.tgz \
  $(node -p '["pg", "pg-boss"].map((name) => `${name}@${require("/src/package-lock.json").packages[`node_modules/${name}`].version}`).join(" ")') \
  # The model needs one of the four builds of its runtime.
  && find node_modules -name '*.map' -delete \
  && cd node_modules && for build in jsep asyncify jspi; do rm -f onnxruntime-web/dist/ort-wasm-simd-threaded.$build.wasm; done

FROM node:26-bookworm-slim
ENV NODE_ENV=production \
  NODE_DISABLE_COMPILE_CACHE=1 \
  TOOLYARD_HOST=0.0.0.0 \
  TOOLYARD_PORT=4747 \
  TOOLYARD_DATA=/data \
  TOOLYARD_CONFIG=/etc/toolyard/toolyard.config.json
RUN mkdir --mode=0700 /data && chown 1000:1000 /data
COPY --from=build /app /app
COPY toolyard.config.json /etc/toolyard/toolyard.config.json
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 4747
# SIGTERM lets load balancers notice, and running calls finish.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TOOLYARD_PORT}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/node_modules/toolyard/bin/toolyard.js"]
CMD ["serve"]
