import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseAllDocuments, parseDocument } from 'yaml'
import { name as projection } from '../projections/server-run.ts'
import { createProgram } from '../src/cli/program.ts'
import { readSettings } from '../src/settings/config.ts'
import { SETTINGS, variableOf } from '../src/settings/settings.ts'
import { readConnectionUrl } from '../src/store/eventstoredb/connection-url.ts'
import { readConnectionUrl as readPostgresUrl } from '../src/store/postgres/connection-url.ts'
import { ROOT } from './support/source-root.ts'

const test = suite('the files for containers, Kubernetes and systemd')

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const MANIFESTS = 'deploy/kubernetes/countersign.yaml'
const COMPOSE_FILES = [
  'docker-compose.yml',
  ...readdirSync(join(ROOT, 'deploy/compose')).map((name) => `deploy/compose/${name}`),
]
const VARIABLES = Object.keys(SETTINGS).map(variableOf)

interface Container {
  readonly build?: string
  readonly image?: string
  readonly entrypoint?: readonly string[]
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, unknown>>
  readonly volumes?: readonly string[]
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly mem_limit?: string
}

interface Compose {
  readonly file: string
  readonly services: Readonly<Record<string, Container>>
  readonly volumes: Readonly<Record<string, unknown>>
}

const COMPOSED: readonly Compose[] = COMPOSE_FILES.map((file) => {
  const document = parseDocument(textOf(file), { merge: true, uniqueKeys: true })
  assert.equal(document.errors, [], file)
  return { file, ...(document.toJS() as Omit<Compose, 'file'>) }
})
const OURS = COMPOSED.flatMap(({ services, file }) =>
  Object.entries(services).flatMap(([name, service]) =>
    service.build === undefined ? [] : [{ ...service, name: `${file} ${name}`, file }],
  ),
)

test('the image is built from every folder that the compiler reads and what forms the verifier of bundles, and from nothing that is not there', () => {
  const copied = [...textOf('Dockerfile').matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, from = '']) =>
    from.split(' '),
  )
  for (const path of copied) assert.ok(existsSync(join(ROOT, path)), path)
  const { include } = JSON.parse(textOf('tsconfig.json'))
  const needed = [...include, 'scripts', 'tsconfig.json', 'package.json', 'package-lock.json', '.npmrc', 'biome.json']
  assert.equal(
    needed.filter((path: string) => !copied.includes(path)),
    [],
  )
})

test('every command that a container runs is one of the command line, and every variable one of its settings', () => {
  assert.is(COMPOSED.length, 4)
  const known = createProgram().commands.map((each) => each.name())
  for (const { name, command = [], entrypoint = [], environment = {} } of OURS) {
    const asked = [
      ...command.slice(0, 1),
      ...[...entrypoint.join(' ').matchAll(/countersign\.js ([a-z]+)/g)].map(([, word]) => word),
    ]
    for (const word of asked) assert.ok(known.includes(String(word)), `${name}: ${word}`)
    for (const variable of Object.keys(environment)) assert.ok(VARIABLES.includes(variable), `${name}: ${variable}`)
  }
})

test('every store that a ledger is given is one that it takes, on services that are there', () => {
  for (const { file, services } of COMPOSED) {
    const stores = Object.values(services).flatMap(({ environment }) => environment?.COUNTERSIGN_STORE ?? [])
    for (const store of new Set(stores)) {
      const url = store.replace(/\$\{\w+:\?[^}]*\}/g, 'secret')
      const hosts = url.startsWith('postgres:')
        ? [String(readPostgresUrl(url).config.host)]
        : [...readConnectionUrl(url).connection.matchAll(/([a-z0-9-]+):2113/g)].map(([, host = '']) => host)
      assert.ok(hosts.length > 0, file)
      for (const host of hosts) assert.ok(Object.hasOwn(services, host), `${file}: ${host}`)
    }
    assert.is(stores.length > 0, file !== 'docker-compose.yml', file)
    for (const [name, { depends_on = {} }] of Object.entries(services))
      for (const other of Object.keys(depends_on))
        assert.ok(Object.hasOwn(services, other), `${file}: ${name} ${other}`)
  }
})

test('no file brings a password: one that is not set is asked for', () => {
  for (const file of [...COMPOSE_FILES, MANIFESTS]) {
    assert.not.match(textOf(file), /changeit|:-/, file)
    for (const [, name = ''] of textOf(file).matchAll(/\$\{(\w+)(?!:\?|\w)/g)) assert.unreachable(`${file}: ${name}`)
  }
})

test('the documents name stores as they are taken, and the projection that this build installs (F253)', () => {
  const page = textOf('docs/cluster.md')
  const urls = [...page.matchAll(/["`]((?:postgres|esdb|kurrentdb)[^"`]*:\/\/[^"`]+)["`]/g)].map(([, url = '']) => url)
  const whole = urls.filter((url) => !/:\/\/$|\.{3}$/.test(url))
  assert.ok(whole.length >= 6, whole.join(' '))
  for (const url of whole) assert.ok((url.startsWith('postgres') ? readPostgresUrl : readConnectionUrl)(url).shown)
  assert.equal([...new Set(page.match(/countersign-run-v\d+/g))], [projection])
})

test('what runs our image has no capability, no way to more rights, a read-only root and a limit of memory, and a full disk does not restart it', () => {
  assert.ok(OURS.length >= 9)
  for (const { name, file, build = '', ...service } of OURS) {
    assert.is(join(dirname(file), build), '.', name)
    assert.is(service.read_only, true, name)
    assert.equal(service.cap_drop, ['ALL'], name)
    assert.equal(service.security_opt, ['no-new-privileges:true'], name)
    assert.match(service.mem_limit ?? '', /^\d+[mg]$/, name)
  }
  assert.match(textOf('Dockerfile'), /HEALTHCHECK --start-period=\d+s .*\/healthz/)
  assert.match(textOf('Dockerfile'), /^USER node$/m)
})

test('the keys of a container lie in a volume of their own', () => {
  const [, data, keys] = /COUNTERSIGN_DATA=(\S+) COUNTERSIGN_KEYS=(\S+)/.exec(textOf('Dockerfile')) ?? []
  assert.equal(JSON.parse(/^VOLUME (.*)$/m.exec(textOf('Dockerfile'))?.[1] ?? ''), [data, dirname(String(keys))])
  for (const { name, volumes = [], command = [] } of OURS) {
    if (['projections', 'store'].includes(command[0] ?? '')) continue
    assert.ok(volumes.includes('keys:/keys'), name)
  }
})

test('Node and PostgreSQL are run by digests, which no later push to their tags changes', () => {
  assert.match(textOf('Dockerfile'), /^ARG NODE_IMAGE=node:[\w.-]+@sha256:[0-9a-f]{64}$/m)
  const images = COMPOSED.flatMap(({ services }) => Object.values(services).flatMap(({ image }) => image ?? []))
  const postgres = images.filter((image) => image.startsWith('postgres:'))
  assert.ok(postgres.length > 0)
  for (const image of postgres) assert.match(image, /^postgres:[\w.-]+@sha256:[0-9a-f]{64}$/)
  const eventstores = images.filter((image) => image.startsWith('eventstore/eventstore:'))
  assert.ok(eventstores.length > 0)
  for (const image of eventstores) assert.match(image, /:23\.10\./, 'the release that the store was made for')
})

test('every volume that is mounted is declared', () => {
  for (const { file, services, volumes } of COMPOSED) {
    const mounted = Object.values(services).flatMap((service) => service.volumes ?? [])
    const names = mounted.map((mount) => mount.split(':')[0] ?? '')
    assert.equal([...new Set(names)].sort(), Object.keys(volumes).sort(), file)
  }
})

interface Manifest {
  readonly kind: string
  readonly spec: {
    readonly template?: {
      readonly spec: {
        readonly enableServiceLinks?: boolean
        readonly terminationGracePeriodSeconds?: number
        readonly containers: readonly {
          readonly env?: readonly { readonly name: string; readonly value: string }[]
        }[]
      }
    }
  }
}

function manifests(): readonly Manifest[] {
  // What `kubectl` reads is YAML 1.1, whose numbers that begin with 0 are octal.
  const documents = parseAllDocuments(textOf(MANIFESTS), { version: '1.1' })
  return documents.map((each) => {
    assert.equal(each.errors, [])
    return each.toJS() as Manifest
  })
}

test('the manifests are what Kubernetes takes: known members of the right types, none misspelt', () => {
  const isTaken = new Ajv2020().compile(JSON.parse(textOf('test/vectors/kubernetes/manifests.schema.json')))
  const read = manifests()
  assert.equal(
    read.map(({ kind }) => kind),
    ['Service', 'StatefulSet'],
  )
  for (const manifest of read) {
    assert.ok(isTaken(manifest), `${manifest.kind}: ${JSON.stringify(isTaken.errors?.slice(0, 3))}`)
    // The check can fail: a slip in any one of its members is found.
    assert.not(isTaken({ ...manifest, spec: { ...manifest.spec, replica: 2 } }))
  }
})

test('the settings in the manifests are taken; Services add none, and the drain fits into the grace period', () => {
  const pod = manifests().flatMap(({ spec }) => spec.template?.spec ?? [])[0]
  assert.is(pod?.enableServiceLinks, false)
  const env = Object.fromEntries(pod?.containers[0]?.env?.map(({ name, value }) => [name, value]) ?? [])
  const settings = readSettings({}, env)
  assert.is(settings.host, '0.0.0.0')
  assert.ok(settings.drainMs > 0)
  assert.ok((pod?.terminationGracePeriodSeconds ?? 0) * 1_000 >= settings.drainMs + 5_000)
})

test('the unit of systemd reads its keys as a credential, and does not start again what is misconfigured', () => {
  const unit = textOf('deploy/systemd/countersign.service')
  const [, credential, source] = /^LoadCredential=([^:\n]+):(\S+)$/m.exec(unit) ?? []
  assert.ok(unit.includes(`\nEnvironment=COUNTERSIGN_KEYS=%d/${credential}\n`))
  assert.ok(unit.includes(`countersign keys create --keys ${source}`), 'how they are made')
  assert.match(unit, /^RestartPreventExitStatus=2$/m)
  for (const [, name = ''] of unit.matchAll(/[ =](COUNTERSIGN_[A-Z_]+)=/g))
    assert.ok(VARIABLES.includes(name) || name === 'COUNTERSIGN_NAME', name)
})

test.run()
