import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ROOT } from './support/source-root.ts'

const architecture = suite('architecture')

const DOCUMENT = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')

/** Which rooms a room may import from, besides itself: the table of docs/architecture.md. */
const MAY_IMPORT: ReadonlyMap<string, readonly string[]> = new Map(
  [...DOCUMENT.matchAll(/^\| `([^`|]+)` \| [^|]+ \| ([^|]+) \|$/gm)].flatMap(([, room = '', allowed = '']) =>
    room.endsWith('/')
      ? [[roomNamed(room), [...allowed.matchAll(/`([^`]+)`/g)].map(([, name = '']) => roomNamed(name))] as const]
      : [],
  ),
)

function roomNamed(name: string): string {
  return name.replace(/\/$/, '')
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
  undici: ['src/egress/'],
  'ipaddr.js': ['src/egress/'],
  pkijs: ['src/timestamps/'],
  asn1js: ['src/timestamps/'],
  minisearch: ['src/agent/pipeline/'],
  'gpt-tokenizer': ['src/agent/pipeline/'],
}

interface Import {
  readonly from: string
  readonly to: string
}

function sources(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(tsx?|mjs)$/.test(file))
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

function roomOf(file: string): string {
  const [top = '', second = ''] = file.split('/')
  return top === 'src' ? `src/${second}` : top
}

function targetOf({ from, to }: Import): string | undefined {
  return to.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(from), to)) : undefined
}

function isForbidden(found: Import): boolean {
  const target = targetOf(found)
  if (target === undefined) return false
  const [here, there] = [roomOf(found.from), roomOf(target)]
  return here !== there && !(MAY_IMPORT.get(here) ?? []).includes(there)
}

/** Groups of files each of which reaches every other (Tarjan 1972, strongly connected components). */
function cyclesOf(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const [order, low, open] = [new Map<string, number>(), new Map<string, number>(), new Set<string>()]
  const cycles: string[][] = []
  const visit = (file: string): number => {
    const begin = order.size
    order.set(file, begin)
    low.set(file, begin)
    open.add(file)
    for (const next of edges.get(file) ?? []) {
      const reached = order.has(next) ? (open.has(next) ? (order.get(next) ?? begin) : begin) : visit(next)
      low.set(file, Math.min(low.get(file) ?? begin, reached))
    }
    if (low.get(file) !== begin) return low.get(file) ?? begin
    const group = [...open].slice([...open].indexOf(file))
    for (const each of group) open.delete(each)
    if (group.length > 1) cycles.push(group)
    return begin
  }
  for (const file of edges.keys()) if (!order.has(file)) visit(file)
  return cycles
}

const say = ({ from, to }: Import) => `${from} -> ${to}`

architecture('imports point one way: no room imports from outside its row of the table', () => {
  assert.ok(FILES.length > 100, 'the scan must see the code base')
  assert.equal(FILES.flatMap(importsOf).filter(isForbidden).map(say), [])
})

architecture('the table allows no import that nobody makes', () => {
  const made = new Set(
    FILES.flatMap(importsOf).map((found) => `${roomOf(found.from)} -> ${roomOf(targetOf(found) ?? 'elsewhere')}`),
  )
  const allowed = [...MAY_IMPORT].flatMap(([here, rooms]) => rooms.map((there) => `${here} -> ${there}`))
  assert.ok(allowed.length > 50, 'the table must be read')
  assert.equal(
    allowed.filter((arrow) => !made.has(arrow)),
    [],
  )
})

architecture('no import leads back to where it began, through any number of files, types included', () => {
  assert.equal(
    cyclesOf(new Map(FILES.map((file) => [file, importsOf(file).flatMap((found) => targetOf(found) ?? [])]))),
    [],
  )
})

architecture('every room of the code has its row in the table', () => {
  assert.equal(
    [...new Set(FILES.map(roomOf))].filter((room) => !MAY_IMPORT.has(room)),
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
    return /Date\.now\(|new Date\(\)|Math\.random\(|randomUUID|randomBytes|getRandomValues|process\.env|from 'node:(fs|net|http|child_process)/.test(
      text,
    )
  })
  assert.ok(pure.length > 30, 'the scan must see the pure middle')
  assert.equal(impure, [])
})

/** The one that works around the engine, and what pages of browsers run: it reads no keys of others. */
const PARSES_JSON = /^(schemas\/json\.ts|src\/dashboard\/assets\/.*)$/

architecture('JSON is parsed by `parseJson` alone, which gives every key the name that it has', () => {
  const parsing = FILES.filter((file) => /^(schemas|projections|src)\//.test(file)).filter((file) =>
    /^(?!\s*(?:\/?\*|\/\/)).*\b(?:JSON\.parse\(|(?:response|answer)\.json\(\))/m.test(
      readFileSync(join(ROOT, file), 'utf8'),
    ),
  )
  assert.ok(parsing.includes('schemas/json.ts'), 'the scan must see what it looks for')
  assert.equal(
    parsing.filter((file) => !PARSES_JSON.test(file)),
    [],
  )
})

architecture('no file is longer than 600 lines', () => {
  const long = [...FILES, ...sources('scripts')].map((file) => ({
    file,
    lines: readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1,
  }))
  assert.equal(
    long.filter(({ lines }) => lines > 600),
    [],
  )
})

architecture(
  'a storage of async context is made once per module: on Node 22 each costs every promise, for good',
  () => {
    const made = FILES.flatMap(
      (file) => readFileSync(join(ROOT, file), 'utf8').match(/^.*new AsyncLocalStorage.*$/gm) ?? [],
    )
    assert.ok(made.length > 0, 'the scan must see them')
    assert.equal(
      made.filter((line) => !line.startsWith('const ')),
      [],
    )
  },
)

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

architecture('what the document says is in a file is there, under the name to search for', () => {
  const rows = [...DOCUMENT.matchAll(/^\| [^`|][^|]+ \| `([^`|]+\.ts)` \| `(\w[\w-]*)` \|$/gm)]
  assert.ok(rows.length >= 12, 'the table must be seen')
  const missing = rows.filter(
    ([, file = '', name = '']) => !FILES.includes(file) || !readFileSync(join(ROOT, file), 'utf8').includes(name),
  )
  assert.equal(
    missing.map(([row]) => row),
    [],
  )
})

architecture.run()
