import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ROOT } from './support/source-root.ts'

const specification = suite('specification')

const FOLDER = join(ROOT, 'docs/spec')
const LIST = 'not-tested.md'
const STATEMENT = /<a id="([A-Z]+-\d+)"><\/a>\*\*([A-Z]+-\d+)\*\* /g
const CITATION = /\b(?:REC|SEAL|STR|LOG|RUN|JUD|HTTP|FMT|CAP|LIFE)-\d+\b/g
/** Rows of the matrix: a fault or an attack, with what must happen. */
const ROW = /^\| ([FA]\d+) \|/gm

const pages = readdirSync(FOLDER).filter((name) => name.endsWith('.md') && name !== LIST)
const statements = pages.flatMap((name) => [...read(join(FOLDER, name)).matchAll(STATEMENT)].map((match) => match[1]))
const listed = [...read(join(FOLDER, LIST)).matchAll(/^\| ([A-Z]+-\d+) \|/gm)].map((match) => match[1])
// The contract of the stores is written once and run for each: its titles count as well.
const titles = sources('test', '.ts').map(titlesOf).join('\n')

specification('each statement has one id, and its anchor is the same', () => {
  assert.ok(statements.length > 100, 'the scan must see the specification')
  assert.is(new Set(statements).size, statements.length)
  for (const name of pages) {
    for (const [, anchor, id] of read(join(FOLDER, name)).matchAll(STATEMENT)) assert.is(anchor, id)
  }
})

specification('every id that code or a test cites is a statement', () => {
  const known = new Set(statements)
  const cited = ['schemas', 'projections', 'src', 'test'].flatMap((folder) =>
    sources(folder, '.ts', '.tsx', '.mjs').flatMap((file) => [...read(file).matchAll(CITATION)].map(([id]) => id)),
  )
  assert.ok(cited.length > 80, 'the scan must see the code')
  assert.equal(
    [...new Set(cited)].filter((id) => !known.has(id)),
    [],
  )
})

specification(
  'each statement is named by the title of a test, or listed as not tested with its reason, never both',
  () => {
    const named = (id: string | undefined) => new RegExp(`\\b${id}\\b`).test(titles)
    assert.equal(
      statements.filter((id) => !named(id) && !listed.includes(id)),
      [],
    )
    assert.equal(
      listed.filter((id) => named(id) || !statements.includes(id)),
      [],
    )
  },
)

specification('each row of the matrix of faults and attacks is named by the title of a test', () => {
  const rows = [...read(join(FOLDER, 'faults-and-attacks.md')).matchAll(ROW)].map((match) => match[1])
  assert.equal(
    rows.filter((id) => !new RegExp(`\\b${id}\\b`).test(titles)),
    [],
  )
})

specification.run()

function read(file: string): string {
  return readFileSync(file, 'utf8')
}

/** Every string that begins an argument list or stands in a table of cases: wider than titles, narrower than the file. */
function titlesOf(file: string): string {
  return [...read(file).matchAll(/'(?:[^'\\\n]|\\.)*'|`[^`]*`/g)].map(([text]) => text).join('\n')
}

function sources(folder: string, ...endings: string[]): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => endings.some((ending) => name.endsWith(ending)))
    .map((name) => join(ROOT, folder, name))
}
