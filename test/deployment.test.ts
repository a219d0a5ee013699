import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { name as projection } from '../projections/server-run.ts'
import { createProgram } from '../src/cli/program.ts'
import { readConnectionUrl } from '../src/store/eventstoredb/connection-url.ts'
import { readConnectionUrl as readPostgresUrl } from '../src/store/postgres/connection-url.ts'
import { ROOT } from './support/source-root.ts'

const test = suite('the files for containers')

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const COMPOSE = textOf('docker-compose.yml')
const SERVICES = namesUnder('services')

/** Names two spaces in, below a key of the file. */
function namesUnder(key: string): readonly string[] {
  const block = COMPOSE.slice(COMPOSE.indexOf(`\n${key}:\n`) + key.length + 3).split(/\n(?=\S)/)[0] ?? ''
  return [...block.matchAll(/^ {2}([a-z0-9-]+):/gm)].map(([, name = '']) => name)
}

const all = (pattern: RegExp): readonly string[] => [...COMPOSE.matchAll(pattern)].map(([, found = '']) => found)

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

test('every command that a container runs is one of the command line', () => {
  const commands = [...all(/command: \[([a-z]+)/g), ...all(/countersign\.js ([a-z]+)/g)]
  assert.ok(commands.length >= 4)
  const known = createProgram().commands.map((each) => each.name())
  for (const command of commands) assert.ok(known.includes(command), command)
})

test('every store that a ledger is given is one that it takes, on services that are there', () => {
  const stores = all(/COUNTERSIGN_STORE: "([^"]+)"/g).map((text) => text.replace(/\$\{\w+:-(\w+)\}/g, '$1'))
  assert.is(stores.length, 3)
  const hosts = stores.flatMap((url) => {
    if (url.startsWith('postgres:')) return [String(readPostgresUrl(url).config.host)]
    const { connection } = readConnectionUrl(url)
    return [...connection.matchAll(/([a-z0-9-]+):2113/g)].map(([, host = '']) => host)
  })
  assert.equal(hosts.sort(), ['cluster-node-1', 'cluster-node-2', 'cluster-node-3', 'eventstore', 'postgres'])
  const named = [...hosts, ...all(/([a-z0-9-]+): \{ condition:/g), ...all(/([a-z][a-z0-9-]+):2113(?=[,\n])/g)]
  for (const name of named) assert.ok(SERVICES.includes(name), name)
})

test('the documents name stores as they are taken, and the projection that this build installs (F253)', () => {
  const page = textOf('docs/cluster.md')
  const urls = [...page.matchAll(/["`]((?:postgres|esdb|kurrentdb)[^"`]*:\/\/[^"`]+)["`]/g)].map(([, url = '']) => url)
  const whole = urls.filter((url) => !/:\/\/$|\.{3}$/.test(url))
  assert.ok(whole.length >= 6, whole.join(' '))
  for (const url of whole) assert.ok((url.startsWith('postgres') ? readPostgresUrl : readConnectionUrl)(url).shown)
  assert.equal([...new Set(page.match(/countersign-run-v\d+/g))], [projection])
})

test('what runs our image has no capability, no way to more rights and a read-only root, and a full disk does not restart it', () => {
  const ledger = COMPOSE.slice(COMPOSE.indexOf('x-ledger: &ledger'), COMPOSE.indexOf('x-ledger-settings:'))
  for (const line of ['read_only: true', 'cap_drop: [ALL]', 'security_opt: ["no-new-privileges:true"]'])
    assert.ok(ledger.includes(`  ${line}\n`), line)
  const services = COMPOSE.slice(COMPOSE.indexOf('\nservices:\n')).split(/\n(?= {2}[a-z])/)
  const ours = services.filter((text) =>
    /^ {4}(command|environment): .*(\[(projections|store),|ledger-settings|postgres-settings)/m.test(text),
  )
  assert.ok(ours.length >= 5)
  for (const service of ours) assert.match(service, /^ {4}<<: \*(cluster-)?ledger$/m)
  assert.match(textOf('Dockerfile'), /HEALTHCHECK .*\/healthz/)
  assert.match(textOf('Dockerfile'), /^USER node$/m)
})

test('Node and PostgreSQL are run by digests, which no later push to their tags changes', () => {
  assert.match(textOf('Dockerfile'), /^ARG NODE_IMAGE=node:[\w.-]+@sha256:[0-9a-f]{64}$/m)
  const pinned = all(/^ +image: postgres:([\w.-]+@sha256:[0-9a-f]{64})$/gm)
  assert.is(pinned.length, all(/^ +image: postgres:(\S+)$/gm).length)
  assert.ok(pinned.length > 0)
})

test('every volume that is mounted is declared, and servers are of the release that the store was made for', () => {
  const mounted = new Set(all(/^ {6}- ([a-z0-9-]+):\//gm))
  assert.equal([...mounted].sort(), [...namesUnder('volumes')].sort())
  assert.equal(all(/image: eventstore\/eventstore:(\d+\.\d+)\./g), ['23.10'])
})

test.run()
