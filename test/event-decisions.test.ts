import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { EVENTS } from '../schemas/events.ts'
import { ROOT } from './support/source-root.ts'

const test = suite('architecture: decisions about event types')

/**
 * But for the verifier of bundles, which judges events of earlier and later versions by lists of its own: `export/bundle/report-catalogue.test.ts` compares
 * these with the catalogue.
 */
const FILES = ['projections', 'src'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.startsWith(join('verify', 'bundle')))
    .map((file) => `${folder}/${file}`),
)
const isType = (name: string | undefined): boolean => name !== undefined && Object.hasOwn(EVENTS, name)

interface Block {
  readonly body: string
  /** What stands right behind its closing brace. */
  readonly after: string
}

/** Blocks whose opening brace ends a match of `start`. */
function blocks(text: string, start: RegExp): readonly Block[] {
  return [...text.matchAll(start)].map(({ index, 0: found }) => {
    const from = index + found.length
    let depth = 1
    let at = from
    for (; depth > 0 && at < text.length; at += 1) depth += text[at] === '{' ? 1 : text[at] === '}' ? -1 : 0
    return { body: text.slice(from, at - 1), after: text.slice(at, at + 80) }
  })
}

function typesIn(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].filter(([, name]) => isType(name)).length
}

const hasDefault = ({ body }: Block): boolean => /^\s*default:/m.test(body) && typesIn(body, /case '(\w+)'/g) > 0

/** An object by event types that the compiler does not compare with the list of them. */
const isLoose = ({ body, after }: Block): boolean =>
  typesIn(body, /^ {2}(\w+)[:,]/gm) + typesIn(body, /(?<=[{,] )(\w+):/g) > 1 &&
  !/^(?: as const)? satisfies /.test(after)

const REGULAR_EXPRESSION = /\.test\((?:\w+\.)*(?:header|event|main|mark)\.type\)/
const SET = /new Set(?:<\w+>)?\(\[([^\]]*)\]/g

const RULES: Readonly<Record<string, (text: string) => boolean>> = {
  'no switch over event types has a default: a new type would take it unseen': (text) =>
    blocks(text, /switch \([^\n]*\) \{/g).some(hasDefault),
  'every table by event type is compared with the catalogue by the compiler': (text) =>
    blocks(text, /(?:const|readonly) \w+[^\n=]*= \{/g).some(isLoose),
  'no set of event types is told apart from the others by hand': (text) =>
    [...text.matchAll(SET)].some(([, members = '']) => typesIn(members, /'(\w+)'/g) > 1),
  'no regular expression judges the name of an event type': (text) => REGULAR_EXPRESSION.test(text),
}

for (const [claim, breaks] of Object.entries(RULES)) {
  test(claim, () => {
    assert.ok(FILES.length > 100, 'the scan must see the code base')
    assert.equal(
      FILES.filter((file) => breaks(readFileSync(join(ROOT, file), 'utf8'))),
      [],
    )
  })
}

test('the scan sees what it forbids', () => {
  const bad = [
    "switch (event.type) {\n  case 'RunStarted':\n    return 1\n  default:\n    return 2\n}",
    "const KINDS: Record<string, string> = {\n  RunStarted: 'a',\n  RunFailed: 'b',\n}\n",
    "const ENDS = new Set(['RunCompleted', 'RunFailed'])",
    'if (FAILS.test(header.type)) return',
  ]
  assert.equal(
    Object.values(RULES).map((breaks) => bad.map(breaks)),
    bad.map((_, row) => bad.map((__, column) => row === column)),
  )
})

test.run()
