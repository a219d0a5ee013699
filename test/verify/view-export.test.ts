import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FORMATS, type FormatName } from '../../src/export/formats.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { exportPages } from '../../src/verify/export-records.ts'
import { verdictOf } from '../../src/verify/fault.ts'
import { checkView, viewFormat } from '../../src/verify/view-export.ts'
import { testLogs } from '../support/test-logs.ts'

const CALLER = { tenant: 'acme', actor: 'auditor' }
const VIEWS = (Object.keys(FORMATS) as FormatName[]).filter((name) => name !== 'jsonl')

const test = suite<{ texts: Readonly<Record<string, string>> }>('verify: exports in other formats')

test.before(async (context) => {
  await using home = await testLogs()
  await home.fill('acme', 'r1', 4)
  const texts: Record<string, string> = {}
  for (const format of Object.keys(FORMATS) as FormatName[]) {
    let text = ''
    for await (const part of exportText(home.ledger, CALLER, { format })) text += part
    texts[format] = text
  }
  context.texts = texts
})

async function* inChunks(text: string): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += 777) yield Buffer.from(text.slice(at, at + 777))
}

async function verdict(text: string, format: string | undefined): Promise<string> {
  return format === undefined ? 'none' : verdictOf((await checkView(inChunks(text), format)).fault.code)
}

test('a whole view is UNVERIFIABLE, never VERIFIED: it is complete, and holds no seal that could be checked', async ({
  texts,
}) => {
  for (const name of VIEWS)
    assert.is(await verdict(texts[name] ?? '', viewFormat(texts[name] ?? '')), 'UNVERIFIABLE', name)
  assert.is(viewFormat(texts.jsonl ?? ''), undefined)
  assert.is(viewFormat('SQLite format 3'), undefined)
})

test('a view that was cut anywhere is INCOMPLETE, one that was altered TAMPERED (F30)', async ({ texts }) => {
  for (const name of VIEWS) {
    const text = texts[name] ?? ''
    const format = viewFormat(text)
    // Behind the trailer a batch has only its end, which holds nothing.
    const length = text.length - (text.endsWith(']\n') ? 3 : 1)
    await fc.assert(
      fc.asyncProperty(fc.nat(length), async (at) => {
        assert.is(await verdict(text.slice(0, at), format), 'INCOMPLETE', `${name} cut at ${at}`)
      }),
      { numRuns: 40 },
    )
    assert.is(await verdict(text.replace('r1', 'r9'), format), 'TAMPERED', name)
  }
})

test('the trailer of a tenant names the tree that its events make, and is held to it', async ({ texts }) => {
  const codesOf = async (text: string): Promise<string[]> => {
    const codes: string[] = []
    for await (const page of exportPages(inChunks(text)))
      for (const item of page) if ('fault' in item) codes.push(item.fault.code)
    return codes
  }
  const text = texts.jsonl ?? ''
  assert.match(text, /"treeSize":\d+,"root":"sha256:/)
  assert.equal(await codesOf(text), ['completeness-unproven'])
  assert.equal(
    await codesOf(text.replace(/"root":"sha256:./, '"root":"sha256:f').replace(/"treeSize":\d+/, '"treeSize":1')),
    ['trailer-root'],
  )
})

test.run()
