import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { BoundedList } from '../../../src/verify/bundle/bounded-lists.ts'
import type { Row } from '../../../src/verify/bundle/event-rows.ts'
import type { BundlePredicate } from '../../../src/verify/bundle/predicate.ts'
import { eventsBehind } from '../../../src/verify/bundle/questions.ts'
import { answerBundle, judgedAnswer } from '../../support/answer-bundles.ts'
import { forgedBundle, partsOf, textLines } from '../../support/forged-bundle.ts'
import { type Files, type LogKey, predicateOf, signedAgain, withManifest } from '../../support/forgery.ts'
import { drive } from '../../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../../support/test-ledger.ts'

interface Context {
  test: TestLedger
  log: LogKey
  /** Two rows. */
  rejections: Files
  open: Files
}

const forged = suite<Context>('export: answers in bundles that the holder of the log key changed and signed again')

forged.before(async (context) => {
  const test = await testLedger({ audit: true, merkleLogs: true })
  context.test = test
  for (const id of ['one', 'two']) {
    const run = drive(test, id)
    await run.start()
    await run.hand('researcher', { entities: ['Apple'] })
    await run.hand('writer', { summary: 'growth' })
    await run.claimed('ship')
  }
  context.rejections = await answerBundle(test, { name: 'rejections', filter: { agent: 'writer' } })
  context.open = await answerBundle(test, { name: 'open-calls', filter: {} })
  const [name = ''] = (test.ledger.logs?.verifierKey(alice.tenant) ?? '').split('+')
  context.log = { name, key: test.keys.current().checkpointKey }
})
forged.after(async ({ test }) => {
  await test[Symbol.asyncDispose]()
})

const answerLines = (files: Files): readonly string[] => textLines(files, 'answer.jsonl')
const answerOf = (files: Files): NonNullable<BundlePredicate['answer']> => {
  const { answer } = predicateOf(files)
  if (answer === undefined) throw new Error('no bundle of an answer')
  return answer
}

interface Forged {
  readonly lines?: readonly string[]
  readonly question?: AnswerQuestion
  readonly rows?: number
  readonly predicate?: Partial<BundlePredicate>
  /** Instead of the one that these rows make. */
  readonly report?: string
}

/** Everything that follows from rows, question and manifest is rebuilt, as the forger would, and signed. */
function again({ log }: Context, files: Files, { lines = answerLines(files), ...more }: Forged): Files {
  const { question, rows = lines.length - 1 } = { ...answerOf(files), rows: lines.length - 1, ...more }
  const predicate = { ...predicateOf(files), answer: { question, rows }, ...more.predicate }
  const listed = new BoundedList<Row>()
  for (const line of lines.slice(1)) listed.add(JSON.parse(line) as JsonObject)
  const made = new Map(forgedBundle(files, { ...partsOf(files), predicate, listed }, log))
  if (more.report !== undefined) made.set('report.html', Buffer.from(more.report))
  made.set('answer.jsonl', Buffer.from(lines.join('')))
  return signedAgain(new Map([...made].sort(([a], [b]) => (a < b ? -1 : 1))), log, predicate)
}

async function codes({ test }: Context, files: Files): Promise<readonly string[]> {
  const { verdict, faults, lines } = await judgedAnswer(test, files)
  assert.ok(['TAMPERED', 'INCOMPLETE'].includes(verdict), verdict)
  assert.not.match(lines, 'Each row follows')
  return [...new Set(faults.map(({ code }) => code))].sort()
}

forged('what is only signed again is VERIFIED: the forger of these tests makes no mistakes', async (context) => {
  for (const files of [context.rejections, context.open])
    assert.equal((await judgedAnswer(context.test, again(context, files, {}))).faults, [])
  assert.is(answerLines(context.rejections).length, 3)
})

forged('a row that was changed in any member is TAMPERED (A264)', async (context) => {
  const [head = '', row = '', last = ''] = answerLines(context.rejections)
  const members = Object.keys(JSON.parse(row))
  assert.ok(members.length > 10)
  for (const name of members) {
    const changed = `${JSON.stringify({ ...JSON.parse(row), [name]: 'another' })}\n`
    assert.ok(
      (await codes(context, again(context, context.rejections, { lines: [head, changed, last] }))).includes('row'),
      name,
    )
  }
  const more = `${JSON.stringify({ ...JSON.parse(row), more: 1 })}\n`
  assert.ok((await codes(context, again(context, context.rejections, { lines: [head, more, last] }))).includes('row'))
})

forged('a rollback that failed is TAMPERED in an answer that calls it compensated (A264)', async (context) => {
  const failed = drive(context.test, 'failed')
  await failed.start()
  const paid = await failed.called('pay', { compensate: { tool: 'refund' } })
  await failed.do({ kind: 'compensate', body: { reason: 'undo it' } })
  await failed.undo(paid, { error: { message: 'no' } })
  for (const [name, more] of [
    ['runs', {}],
    ['sample', { seed: 's' }],
  ] as const) {
    const files = await answerBundle(context.test, { name, filter: {}, ...more })
    assert.equal((await judgedAnswer(context.test, files)).faults, [], name)
    const lines = answerLines(files)
    assert.is(lines.filter((line) => line.includes('"compensation":"COMPENSATION_FAILED"')).length, 1)
    for (const word of ['"compensation":"COMPENSATED"', '"left":"out"']) {
      const changed = lines.map((line) => line.replace('"compensation":"COMPENSATION_FAILED"', word))
      assert.ok((await codes(context, again(context, files, { lines: changed }))).includes('row'), `${name} ${word}`)
    }
  }
})

forged(
  'a row that is left out, added, there twice or moved is found, whatever the signed manifest counts (A265)',
  async (context) => {
    const [head = '', first = '', second = ''] = answerLines(context.rejections)
    const attacks: [string, readonly string[]][] = [
      ['row-missing', [head, first]],
      ['row', [head, second]],
      ['row-missing', [head]],
      ['row', [head, second, first]],
      ['row-foreign', [head, first, second, second]],
      ['row', [head, first, first, second]],
    ]
    for (const [code, lines] of attacks)
      assert.ok((await codes(context, again(context, context.rejections, { lines }))).includes(code), lines.join(''))
    for (const rows of [1, 3])
      assert.ok((await codes(context, again(context, context.rejections, { rows }))).includes('count'))
    const [openHead = '', ...open] = answerLines(context.open)
    assert.is(open.length, 2)
    assert.ok(
      (await codes(context, again(context, context.open, { lines: [openHead, open[1] ?? ''] }))).includes('row'),
    )
  },
)

forged('a question that was changed is TAMPERED: in the rows, in the manifest, or in both (A266)', async (context) => {
  const { question } = answerOf(context.rejections)
  const [head = '', ...rows] = answerLines(context.rejections)
  const other = { ...question, filter: { agent: 'researcher' } }
  const otherHead = `${JSON.stringify({ answer: other })}\n`
  assert.equal(await codes(context, again(context, context.rejections, { lines: [otherHead, ...rows] })), [
    'answer-question',
  ])
  assert.ok((await codes(context, again(context, context.rejections, { question: other }))).includes('answer-question'))
  const both = again(context, context.rejections, { question: other, lines: [otherHead, ...rows] })
  assert.ok((await codes(context, both)).includes('row-foreign'))
  const narrower = { ...question, filter: { agent: 'writer', run: 'one' } }
  const lines = [`${JSON.stringify({ answer: narrower })}\n`, rows[0] ?? '']
  assert.ok(
    (await codes(context, again(context, context.rejections, { question: narrower, lines }))).includes('other-scope'),
  )
  assert.ok(head.startsWith('{"answer":'))
  const beyond = { ...question, asOf: 99_999 }
  const asked = [`${JSON.stringify({ answer: beyond })}\n`, ...rows]
  assert.ok(
    (await codes(context, again(context, context.rejections, { question: beyond, lines: asked }))).includes(
      'answer-question',
    ),
    'as of more events than the checkpoint covers',
  )
})

forged('a manifest that asks for fewer events than the answer follows from is TAMPERED (A266)', async (context) => {
  const { question } = answerOf(context.open)
  const query = { ...eventsBehind(question), types: ['ToolCallClaimed'] as const }
  const found = await codes(context, again(context, context.open, { predicate: { query, complete: query } as never }))
  assert.ok(found.includes('other-scope'), found.join())
})

forged(
  'an event that an answer follows from is missed, also where its row is left out with it (A265)',
  async (context) => {
    const files = context.rejections
    const parts = partsOf(files)
    const gone = parts.lines.findIndex((line) => line.includes('"EnvelopeRejected"') && line.includes('.two"'))
    const events = textLines(files, 'events.jsonl').filter((line) => line !== parts.lines[gone])
    const [head = '', first = ''] = answerLines(files)
    const less = new Map(again(context, files, { lines: [head, first] })).set(
      'events.jsonl',
      Buffer.from(events.join('')),
    )
    const found = await codes(context, signedAgain(less, context.log))
    assert.ok(found.includes('event-missing') && found.includes('answer-evidence'), found.join())
  },
)

forged('a report that was changed and signed again is TAMPERED (A266)', async (context) => {
  const { rejections } = context
  const report = String(rejections.get('report.html'))
  for (const changed of [
    report.replace('2 rows.', '1 rows.'),
    report.replaceAll('writer', 'nobody'),
    report.replace('no other row does', 'all is well'),
  ])
    assert.equal(await codes(context, again(context, rejections, { report: changed })), ['other-text'])
})

forged(
  'a question that no bundle proves, or with a filter that it does not take, is refused, never passed over (A267)',
  async (context) => {
    const { question } = answerOf(context.rejections)
    for (const other of [
      { ...question, query: 'keys' },
      { ...question, query: 'constructor' },
      { ...question, filter: { tool: 'ship' } },
      { ...question, filter: { agent: 7 } },
      { ...question, by: 'run' },
      { ...question, query: 'spend', by: 'colour', filter: {} },
      { ...question, query: 'sample', filter: {} },
      { ...question, query: 'search', filter: {} },
      { ...question, more: 1 },
    ])
      assert.equal(
        await codes(context, again(context, context.rejections, { question: other as never })),
        ['manifest-form'],
        JSON.stringify(other),
      )
  },
)

forged('rows stand in a bundle of an answer alone, and such a bundle has some (A267)', async (context) => {
  const { rejections, log } = context
  const statement = JSON.parse(rejections.get('manifest.json')?.toString() ?? '')
  const { answer: _, ...predicate } = statement.predicate
  const plain = { ...statement, predicateType: 'urn:countersign:evidence-bundle:v1', predicate }
  const signed = (changed: object, files: Files = rejections): Files =>
    withManifest(
      new Map([...files].filter(([name]) => !name.startsWith('manifest.'))),
      JSON.stringify(changed, null, 2),
      log,
    )
  assert.ok((await codes(context, signed(plain))).includes('foreign-file'))
  assert.ok((await codes(context, signed({ ...plain, predicate: statement.predicate }))).includes('manifest-form'))
  assert.equal(await codes(context, signed({ ...statement, predicate })), ['manifest-form'])
  const without = new Map([...rejections].filter(([name]) => name !== 'answer.jsonl'))
  const subject = statement.subject.filter(({ name }: { name: string }) => name !== 'answer.jsonl')
  assert.ok((await codes(context, signed({ ...statement, subject }, without))).includes('file-missing'))
  const cut = rejections.get('answer.jsonl') ?? Buffer.alloc(0)
  const shorter = new Map(rejections).set('answer.jsonl', cut.subarray(0, -1))
  assert.ok((await codes(context, signedAgain(shorter, log))).includes('file-cut'))
})

forged.run()
