import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ROOT } from './support/source-root.ts'

const architecture = suite('architecture')

/** Which rooms a room may import from, besides itself. The picture is in docs/architecture.md. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  schemas: [],
  projections: ['schemas'],
  'src/domain': ['schemas', 'projections'],
  'src/merkle': [],
  'src/signing': ['schemas'],
  'src/resources': [],
  'src/store': ['schemas', 'src/resources'],
  'src/import': ['schemas', 'src/signing', 'src/ledger'],
  'src/access': ['schemas', 'projections', 'src/domain', 'src/signing', 'src/resources'],
  'src/ledger': [
    'schemas',
    'projections',
    'src/resources',
    'src/domain',
    'src/merkle',
    'src/signing',
    'src/store',
    'src/access',
  ],
  'src/export': [
    'schemas',
    'projections',
    'src/access',
    'src/domain',
    'src/merkle',
    'src/signing',
    'src/store',
    'src/ledger',
  ],
  'src/verify': ['schemas', 'projections', 'src/merkle', 'src/signing', 'src/store', 'src/export'],
  'src/dashboard': [
    'schemas',
    'projections',
    'src/resources',
    'src/domain',
    'src/merkle',
    'src/signing',
    'src/store',
    'src/access',
    'src/ledger',
  ],
  'src/http': [
    'schemas',
    'src/resources',
    'src/domain',
    'src/merkle',
    'src/signing',
    'src/store',
    'src/access',
    'src/ledger',
    'src/export',
    'src/dashboard',
  ],
  'src/compose': ['schemas', 'src/resources', 'src/merkle', 'src/signing', 'src/store', 'src/ledger', 'src/http'],
  'src/client': ['schemas'],
  'src/agent': ['schemas', 'projections', 'src/signing', 'src/ledger', 'src/export', 'src/client', 'src/compose'],
  'src/cli': [
    'schemas',
    'projections',
    'src/domain',
    'src/merkle',
    'src/signing',
    'src/store',
    'src/import',
    'src/ledger',
    'src/export',
    'src/verify',
    'src/http',
    'src/client',
    'src/compose',
  ],
}

/** A driver or a framework is known in one room only. */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  'better-sqlite3': ['src/store/sqlite/'],
  '@eventstore/db-client': ['src/store/eventstoredb/'],
  pg: ['src/store/postgres/'],
  hono: ['src/http/', 'src/dashboard/'],
  '@hono/node-server': ['src/http/'],
  '@hono/zod-openapi': ['src/http/'],
  jose: ['src/signing/'],
  pino: ['src/cli/'],
  commander: ['src/cli/'],
  'ajv-formats': ['src/domain/json-schema/'],
  undici: ['src/agent/models/'],
  'ipaddr.js': ['src/agent/models/'],
  'csv-stringify': ['src/export/'],
  minisearch: ['src/agent/pipeline/'],
  'gpt-tokenizer': ['src/agent/pipeline/'],
}

interface Import {
  readonly from: string
  readonly to: string
}

function sources(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') || file.endsWith('.tsx'))
    .map((file) => `${folder}/${file}`)
}

const FILES = ['schemas', 'projections', 'src'].flatMap(sources)
const TESTS = sources('test')

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const found = text.matchAll(
    /^(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/gm,
  )
  return [...found].map((match) => ({ from: file, to: match[1] ?? match[2] ?? match[3] ?? '' }))
}

/** Files that lie in src itself put the parts together: one room, `src/compose`. */
function roomOf(file: string): string {
  const [top = '', second = '', third] = file.split('/')
  if (top !== 'src') return top
  return third === undefined ? 'src/compose' : `src/${second}`
}

function targetOf({ from, to }: Import): string | undefined {
  return to.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(from), to)) : undefined
}

function isForbidden(found: Import): boolean {
  const target = targetOf(found)
  if (target === undefined) return false
  const [here, there] = [roomOf(found.from), roomOf(target)]
  return here !== there && !(MAY_IMPORT[here] ?? []).includes(there)
}

const say = ({ from, to }: Import) => `${from} -> ${to}`

architecture('imports point one way: no room imports from outside its row of the table', () => {
  assert.ok(FILES.length > 100, 'the scan must see the code base')
  assert.equal(FILES.flatMap(importsOf).filter(isForbidden).map(say), [])
})

architecture('every room of the code has its row in the table', () => {
  assert.equal(
    [...new Set(FILES.map(roomOf))].filter((room) => MAY_IMPORT[room] === undefined),
    [],
  )
})

architecture('a driver or a framework is imported in its own room only', () => {
  const outside = FILES.flatMap(importsOf).filter(({ from, to }) => {
    const name = to.startsWith('@') ? to.split('/').slice(0, 2).join('/') : (to.split('/')[0] ?? '')
    const rooms = ONLY_IN[name]
    return rooms !== undefined && !rooms.some((room) => from.startsWith(room))
  })
  assert.equal(outside.map(say), [])
})

architecture('the pure middle reads no clock, no randomness, no file and no environment', () => {
  const pure = FILES.filter((file) => /^(schemas|projections|src\/domain)\//.test(file))
  const impure = pure.filter((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    return /Date\.now\(|new Date\(\)|Math\.random\(|process\.env|from 'node:(fs|net|http|child_process)/.test(text)
  })
  assert.ok(pure.length > 30, 'the scan must see the pure middle')
  assert.equal(impure, [])
})

architecture('no file is longer than 300 lines', () => {
  const long = FILES.map((file) => ({ file, lines: readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1 }))
  assert.equal(
    long.filter(({ lines }) => lines > 300),
    [],
  )
})

architecture('every test file runs the suites that it declares', () => {
  const tests = TESTS.filter((file) => file.endsWith('.test.ts'))
  assert.ok(tests.length > 10, 'the scan must see the tests')
  const silent = tests.filter((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const declared = [...text.matchAll(/const (\w+) = suite[(<]/g)].map((match) => match[1] ?? '')
    return declared.some((name) => !text.includes(`${name}.run()`))
  })
  assert.equal(silent, [])
})

architecture.run()
