import { appendFileSync, cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import type * as Validator from '../../../../src/domain/validator/validate.ts'
import { ROOT } from '../../../support/source-root.ts'
import { tempFolder } from '../../../support/temp-folder.ts'
import { outcomeOf } from './outcomes.ts'
import { TABLE_CASES, type TableCase } from './tables.ts'

const test = suite('judgement: no line of a table is without a case')

type Table = Set<string> | Map<string, unknown>

/** Where a copy of the built validator puts its tables, and what it remembers of keys. */
interface Kept {
  readonly tables: Map<string, Table>
  readonly memos: Map<string, unknown>[]
}

const KEPT = 'countersignTablesOfTest'
const PARTS = ['schemas', 'projections', 'src']
const TABLE = /^(?:export )?const (\w+) = new (?:Set|Map)\((?!\))/gm
/** Some tables are filled after they were made. */
const FILLED = /^const ([A-Z]\w*) = new Map\(\);/gm
const MEMO = /^const ([a-z]\w*) = new Map\(\);/gm

const HELD = [...new Set(TABLE_CASES.map(({ table }) => table))]

function namesIn(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => name)
}

/** Makes every module of the copy give its tables and memories out. */
function openUp(folder: string): void {
  for (const part of ['projections', 'src/domain/validator']) {
    for (const file of readdirSync(join(folder, part), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.js')) continue
      const path = join(folder, part, file)
      const text = readFileSync(path, 'utf8')
      const place = file.slice(0, -'.js'.length).replaceAll('\\', '/')
      const tables = [...namesIn(text, TABLE), ...namesIn(text, FILLED)]
      const lines = [
        ...tables.map((name) => `globalThis.${KEPT}.tables.set('${place} ${name}', ${name});`),
        ...namesIn(text, MEMO).map((name) => `globalThis.${KEPT}.memos.push(${name});`),
      ]
      if (lines.length > 0) appendFileSync(path, `\n${lines.join('\n')}\n`)
    }
  }
}

function without(table: Table, word: string): Disposable {
  const entries = [...table] as never
  table.delete(word)
  return {
    [Symbol.dispose]: () => {
      table.clear()
      for (const each of entries as readonly (string | [string, unknown])[]) {
        if (table instanceof Set) table.add(each as string)
        else table.set(each[0] as string, each[1])
      }
    },
  }
}

test('a built copy of the validator in which any one word of a table is missing judges some case otherwise (JUD-99)', async () => {
  using folder = tempFolder()
  for (const part of PARTS) {
    cpSync(join(ROOT, 'dist', part), folder.file(part), { recursive: true, filter: (path) => !path.endsWith('.map') })
  }
  cpSync(join(ROOT, 'package.json'), folder.file('package.json'))
  symlinkSync(join(ROOT, 'node_modules'), folder.file('node_modules'))
  openUp(folder.path)
  const kept: Kept = { tables: new Map(), memos: [] }
  Object.assign(globalThis, { [KEPT]: kept })
  const url = pathToFileURL(folder.file('src/domain/validator/validate.js')).href
  const { validateHandoff } = (await import(url)) as typeof Validator
  const policy = resolvePolicy()
  const fails = ({ before, after, isSaid }: TableCase): boolean => {
    for (const memo of kept.memos) memo.clear()
    return (outcomeOf(validateHandoff({ before, after, policy })) !== 'silent') !== isSaid
  }
  assert.equal(TABLE_CASES.filter(fails), [])
  const undefended: string[] = []
  let words = 0
  for (const name of HELD) {
    const table = kept.tables.get(name)
    assert.ok(table !== undefined && table.size > 0, `there is no table ${name}: these are ${[...kept.tables.keys()]}`)
    const cases = TABLE_CASES.filter((each) => each.table === name)
    for (const word of [...table.keys()]) {
      words += 1
      using _ = without(table, word)
      if (!cases.some(fails)) undefended.push(`${name}: ${word}`)
    }
  }
  console.log(`${words} words of ${HELD.length} tables, of ${kept.tables.size} in all`)
  assert.equal(undefended, [])
})

test.run()
