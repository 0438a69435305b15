import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { openTestServer, type TestServer } from '../../src/server/fixtures/open-server.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const yaml = (file: string) => parse(read(file), { merge: true })

const PORT = 4747
const documented = new Set(
  [...read('docs/reference/configuration.md').matchAll(/`(TOOLYARD_[A-Z_]+)`/g)].map(([, name]) => name),
)
const unknownIn = (text: string) =>
  [...text.matchAll(/\bTOOLYARD_[A-Z_]+/g)].map(([name]) => name).filter((name) => !documented.has(name))

const FILES = [
  ...[
    'Dockerfile',
    'compose.yaml',
    'deploy/prometheus.yml',
    'deploy/prometheus-alerts.yml',
    'deploy/systemd/toolyard.service',
    'docs/guides/deployment.md',
  ],
  ...readdirSync(join(root, 'deploy/kubernetes')).map((file) => `deploy/kubernetes/${file}`),
]

test.each(FILES)('%s uses only documented variables', (file) => {
  expect(unknownIn(read(file))).toEqual([])
})

let server: TestServer
let metrics = ''
beforeAll(async () => {
  server = await openTestServer({ tools: { enabled: true } }, { local: true })
  metrics = await (await fetch(`${server.url}/metrics?tenant=*`)).text()
})
afterAll(() => server.close())

const isRoute = (url: string) => server.app.hasRoute({ method: 'GET', url })

describe('the image', () => {
  const lines = read('Dockerfile').replaceAll('\\\n', ' ').split('\n')
  const instruction = (name: string) =>
    lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))

  test('runs as a numeric user that is not root, after everything that needs root', () => {
    expect(instruction('USER')).toEqual(['1000:1000'])
    expect(lines.findLastIndex((line) => /^(RUN|COPY)/.test(line))).toBeLessThan(lines.indexOf('USER 1000:1000'))
  })

  test('exposes the port that it listens on, and its health check asks a route', () => {
    expect(instruction('EXPOSE')).toEqual([String(PORT)])
    expect(instruction('ENV').join()).toContain(`TOOLYARD_PORT=${PORT}`)
    expect(instruction('HEALTHCHECK')[0]).toContain('/health`')
    expect(isRoute('/health')).toBe(true)
  })

  test('starts the program of the package', () => {
    const [, program] = JSON.parse(instruction('ENTRYPOINT')[0] as string)
    expect(program).toBe(`/app/node_modules/toolyard/${JSON.parse(read('package.json')).bin.toolyard}`)
  })

  test('gets no secrets and no installed packages from the folder', () => {
    const ignored = read('.dockerignore').split('\n')
    for (const entry of ['**/node_modules', '.git', '.env', 'secrets', '**/.toolyard']) expect(ignored).toContain(entry)
  })
})

describe('compose.yaml', () => {
  const { services, secrets, volumes } = yaml('compose.yaml')
  const servers = ['toolyard-1', 'toolyard-2']

  test.each(servers)('%s has a read-only root file system and no capabilities', (name) => {
    expect(services[name]).toMatchObject({ read_only: true, cap_drop: ['ALL'], image: 'toolyard' })
    expect(services[name].ports).toEqual([expect.stringMatching(new RegExp(`^127\\.0\\.0\\.1:\\d+:${PORT}$`))])
    expect(services[name].tmpfs).toEqual(['/tmp', expect.stringMatching(/^\/data:uid=1000,/)])
    expect(services[name].environment.TOOLYARD_ADMIN_KEY_FILE).toBe('/run/secrets/admin_key')
    expect(services[name].depends_on.postgres).toEqual({ condition: 'service_healthy' })
  })

  test('defines every secret and volume, and mounts files that exist', () => {
    for (const service of Object.values<{ secrets?: string[]; volumes?: string[] }>(services)) {
      for (const name of service.secrets ?? []) expect(secrets).toHaveProperty(name)
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':')
        if (source.startsWith('./')) expect(existsSync(join(root, source)), source).toBe(true)
        else expect(volumes).toHaveProperty(source)
      }
    }
  })

  test('Prometheus scrapes both servers at a route', () => {
    const [job] = yaml('deploy/prometheus.yml').scrape_configs
    expect(isRoute(job.metrics_path)).toBe(true)
    expect(job.static_configs[0].targets).toEqual(servers.map((name) => `${name}:${PORT}`))
    expect(job.authorization.credentials_file).toBe('/run/secrets/admin_key')
    expect(services.prometheus.secrets).toContain('admin_key')
    const [alerts] = yaml('deploy/prometheus.yml').rule_files
    expect(services.prometheus.volumes).toContain(`./deploy/prometheus-alerts.yml:${alerts}:ro`)
  })
})

describe('the Kubernetes manifests', () => {
  const documents = FILES.filter((file) => file.startsWith('deploy/kubernetes/')).flatMap((file) =>
    parseAllDocuments(read(file)).map((document) => {
      expect(document.errors).toEqual([])
      return document.toJS()
    }),
  )
  const only = (kind: string) => {
    const found = documents.filter((document) => document.kind === kind)
    expect(found, kind).toHaveLength(1)
    return found[0]
  }
  const { template, selector, replicas } = only('Deployment').spec
  const [container] = template.spec.containers
  const { labels } = template.metadata

  test('runs as the user of the image, without privileges', () => {
    expect(template.spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000 })
    expect(container.securityContext).toEqual({
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    })
    expect(template.spec.automountServiceAccountToken).toBe(false)
  })

  test('mounts every volume, among them the folders that must be writable', () => {
    const mounts = new Map(
      container.volumeMounts.map((one: { mountPath: string; name: string }) => [one.mountPath, one.name]),
    )
    const names = template.spec.volumes.map(({ name }: { name: string }) => name)
    expect([...mounts.values()].sort()).toEqual([...names].sort())
    expect([...mounts.keys()]).toEqual(expect.arrayContaining(['/data', '/tmp', '/etc/toolyard']))
  })

  test('probes are routes, and the ports fit together', () => {
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      const { path, port } = container[probe].httpGet
      expect(isRoute(path), path).toBe(true)
      expect(port).toBe('http')
    }
    expect(container.readinessProbe.httpGet.path).toBe('/ready')
    expect(container.ports).toEqual([{ name: 'http', containerPort: PORT }])
    expect(only('Service').spec.ports[0].targetPort).toBe('http')
    expect(only('NetworkPolicy').spec.ingress[0].ports[0].port).toBe(PORT)
  })

  test('all selectors match the pods, and the budget lets one go', () => {
    expect(selector.matchLabels).toEqual(labels)
    expect(only('Service').spec.selector).toEqual(labels)
    expect(only('NetworkPolicy').spec.podSelector.matchLabels).toEqual(labels)
    const budget = only('PodDisruptionBudget').spec
    expect(budget.selector.matchLabels).toEqual(labels)
    expect(budget.minAvailable).toBeLessThan(replicas)
  })

  test('gives a pod the time to drain and to shut down', () => {
    const defaults = [...read('docs/reference/configuration.md').matchAll(/`server\.(?:drain|shutdown)_ms` \| (\d+)/g)]
    const needed = defaults.reduce((sum, [, ms]) => sum + Number(ms) / 1_000, 0)
    expect(needed).toBeGreaterThan(0)
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(needed)
  })
})

test('the dashboard, the alerts and the docs use only metrics that exist', () => {
  const { panels } = JSON.parse(read('deploy/grafana-dashboard.json'))
  const exported = new Set([...metrics.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name))
  const { rules } = yaml('deploy/prometheus-alerts.yml').groups[0]
  const shown = panels.flatMap(({ targets }: { targets: { expr: string }[] }) => targets)
  const written = [...shown, ...rules].map(({ expr }: { expr: string }) => expr)
  const texts = [...written, read('docs/reference/telemetry.md')]
  const used = texts.flatMap((text) => text.match(/\b(?:toolyard|process|nodejs)_\w+/g) ?? [])
  expect(used.length).toBeGreaterThan(20)
  expect(used.filter((name: string) => !exported.has(name.replace(/_bucket$/, '')))).toEqual([])
})

test('the systemd unit runs the program of the package without privileges', () => {
  const unit = read('deploy/systemd/toolyard.service')
  expect(unit).toMatch(/^ExecStart=\S+ \S+\/node_modules\/toolyard\/bin\/toolyard\.js serve$/m)
  for (const line of ['User=toolyard', 'NoNewPrivileges=true', 'ProtectSystem=strict', 'StateDirectory=toolyard']) {
    expect(unit.split('\n')).toContain(line)
  }
})
