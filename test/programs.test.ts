import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'

const test = suite('the programs of the package')

const DIST = fileURLToPath(new URL('..', import.meta.url))
const PROGRAMS = join(DIST, 'programs')
const THREADS = readdirSync(PROGRAMS).filter((file) => file.endsWith('-worker.js'))

function textsBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
}

test('every thread that a module starts has a program, and every program of a thread is started by a module', () => {
  const started = textsBelow(join(DIST, 'src')).flatMap((text) =>
    [...text.matchAll(/\/programs\/([\w-]+\.js)', import\.meta\.url/g)].map(([, name = '']) => name),
  )
  assert.equal([...new Set(started)].sort(), [...THREADS].sort())
  assert.is(THREADS.length, 5)
})

/** As the bundler writes them. */
const STATIC = /^(?:import (?:[^"'\n]* from )?|\} from )"([^"\n]+)";$/gm
const REQUIRED = /(?:^(?:import (?:[^"'\n]* from )?|\} from )|\b__require\()"([^"\n]+)"/gm
const IMPORTED = /\bimport\("([^"\n]+)"\)/gm

function loadedBy(file: string, how: RegExp): readonly string[] {
  return [...readFileSync(join(PROGRAMS, file), 'utf8').matchAll(how)].map(([, name = '']) => name)
}

/** The modules that are in a file, by the paths that the bundler writes above each. */
function modulesIn(file: string): readonly string[] {
  const text = readFileSync(join(PROGRAMS, file), 'utf8')
  const found = text.matchAll(/^\/\/ ((?:dist\/|\S*node_modules\/)\S+\.[cm]?js)$/gm)
  return [...found].map(([, module = '']) => module.replace(/^.*(?=node_modules\/)/, ''))
}

/** The files that an entry loads before anything of it is called. */
function loadedFirst(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found
  found.add(file)
  for (const name of loadedBy(file, STATIC)) if (name.startsWith('./')) loadedFirst(name.slice(2), found)
  return found
}

test('countersign/agent and countersign/client hold no package and nothing of the server until a ledger is opened (A420)', () => {
  const rooms = /^dist\/(schemas|projections|src\/(agent|client|signing|resources|egress))\//
  for (const entry of ['agent.js', 'client.js']) {
    const modules = [...loadedFirst(entry)].flatMap(modulesIn)
    assert.ok(modules.includes('dist/src/client/client.js'), 'the scan must see the modules')
    assert.equal(
      modules.filter((module) => !rooms.test(module)),
      [],
    )
  }
  assert.ok([...loadedFirst('countersign.js'), ...loadedFirst('compose-service.js')].flatMap(modulesIn).length > 300)
})

test('a hook with --url loads no package and nothing of the ledger (A530)', () => {
  const entry = readdirSync(PROGRAMS).find((file) => file.startsWith('command-line-')) ?? ''
  const hook = loadedBy(entry, IMPORTED).find((name) => name.startsWith('./hook-')) ?? ''
  const modules = ['countersign.js', entry, hook.slice(2)].flatMap((file) => [...loadedFirst(file)]).flatMap(modulesIn)
  assert.ok(modules.includes('dist/src/capture/call-record.js'), 'the scan must see the modules')
  const rooms = /^dist\/(schemas|src\/(cli|client|capture|signing|resources|settings))\//
  assert.equal(
    modules.filter((module) => !rooms.test(module) || module === 'dist/src/cli/program.js'),
    [],
  )
})

test('a program loads files beside it, modules of node, and packages that are installed with it; optional ones it imports when it needs them (A421)', () => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(DIST, '..', 'package.json'), 'utf8'))
  const optional = new Set(Object.keys(peerDependencies))
  const packageOf = (name: string) => name.split('/', name.startsWith('@') ? 2 : 1).join('/')
  const loaded = readdirSync(PROGRAMS)
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => [
      ...loadedBy(file, REQUIRED).map((name) => ({ file, name })),
      ...loadedBy(file, IMPORTED).flatMap((name) => (optional.has(packageOf(name)) ? [] : [{ file, name }])),
    ])
    .filter(({ name }) => !isBuiltin(name))
  const beside = loaded.filter(({ name }) => name.startsWith('.'))
  const packages = loaded.filter(({ name }) => !name.startsWith('.'))
  assert.ok(packages.some(({ name }) => name === 'better-sqlite3') && beside.length > 100, 'the scan must see imports')
  assert.equal(
    beside.filter(({ name }) => !existsSync(join(PROGRAMS, name))),
    [],
  )
  assert.equal(
    packages.filter(({ name }) => !Object.hasOwn(dependencies, packageOf(name))),
    [],
  )
  const used = new Set(packages.map(({ name }) => packageOf(name)))
  assert.equal(
    Object.keys(dependencies).filter((name) => !used.has(name)),
    [],
    'a dependency that no program loads',
  )
})

test('no module is in two files of the package (A421)', () => {
  const places = new Map<string, string[]>()
  for (const file of readdirSync(PROGRAMS).filter((name) => name.endsWith('.js')))
    for (const module of new Set(modulesIn(file))) places.set(module, [...(places.get(module) ?? []), file])
  assert.ok(places.size > 500, 'the scan must see the modules')
  assert.equal(
    [...places].filter(([, files]) => files.length > 1),
    [],
  )
})

test('the license of every package whose code is in them lies beside them', () => {
  const held = new Set(
    textsBelow(PROGRAMS).flatMap((text) =>
      [...text.matchAll(/^\/\/ (?:.*\/)?node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm)].map(([, name = '']) => name),
    ),
  )
  assert.ok(held.has('zod') && held.has('commander'), 'the scan must see what is bundled')
  const notices = readFileSync(join(PROGRAMS, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
  const without = [...held].filter((name) => !notices.includes(`\n${name} `))
  assert.equal(without, [])
})

test.run()
