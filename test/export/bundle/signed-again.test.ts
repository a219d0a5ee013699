import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventQuery } from '../../../schemas/event-query.ts'
import { createLedgerKeys } from '../../../src/signing/ledger-keys.ts'
import type { BundleVerdict } from '../../../src/verify/bundle/verdict.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { type Forgery, forgedBundle, partsOf, recounted, textLines } from '../../support/forged-bundle.ts'
import {
  type Files,
  headerOf,
  type LogKey,
  packedBundle,
  signedAgain,
  trailerLine,
  withManifest,
} from '../../support/forgery.ts'
import { drive } from '../../support/run-driver.ts'
import { type TempFolder, tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

interface Context {
  folder: TempFolder
  log: LogKey
  key: string
  /** Bundles of a run, of a query, and of the whole tenant. */
  run: Files
  part: Files
  whole: Files
}

const test = suite<Context>('export: bundles that the holder of the log key signed again')

test.before(async (context) => {
  context.folder = tempFolder()
  await using home = await testLogs()
  for (const [runId, actor] of [
    ['one', 'alice'],
    ['two', 'bob'],
  ] as const) {
    const run = drive(home, runId, { tenant: 'acme', actor })
    await run.start()
    await run.hand('researcher', { entities: ['Apple'], note: 'a\u2028b\u2029c\u0085d\u202ee' })
    await run.called('ship')
  }
  const made = async (name: string, query: EventQuery): Promise<Files> => {
    await writeBundle(home.ledger, context.folder.file(name), { query })
    return unpackTar(readFileSync(context.folder.file(name)))
  }
  context.run = await made('run.tar', { run: 'one' })
  context.part = await made('part.tar', { actor: 'alice', types: ['EnvelopeAccepted', 'ToolCallClaimed'] })
  context.whole = await made('whole.tar', {})
  context.log = { name: 'ledger.example/acme', key: home.keys.checkpointKey }
  context.key = home.logs.verifierKey('acme')
})
test.after(({ folder }) => folder[Symbol.dispose]())

const judged = async ({ key }: Context, files: Files): Promise<BundleVerdict> =>
  verifyBundle(await packedBundle(files), { key })

async function codes(context: Context, files: Files): Promise<readonly string[]> {
  const { verdict, faults } = await judged(context, files)
  assert.is.not(verdict, 'VERIFIED')
  return [...new Set(faults.map(({ code }) => code))].sort()
}

const changed = (files: Files, name: string, content: string | Buffer): Files =>
  new Map(files).set(name, Buffer.from(content))
const textOf = (files: Files, name: string): string => files.get(name)?.toString() ?? ''

test('separators of lines and marks of direction in a payload are text like any other (A71)', async (context) => {
  for (const files of [context.run, context.part, context.whole]) {
    const found = await judged(context, files)
    assert.equal([found.verdict, found.faults], ['VERIFIED', []])
  }
  assert.match(textOf(context.run, 'events.jsonl'), /\u2028[\s\S]*\u2029[\s\S]*\u0085/)
})

test('what is only signed again, and changed in nothing, is VERIFIED: the forger of these tests makes no mistakes', async (context) => {
  for (const files of [context.run, context.part, context.whole]) {
    assert.equal((await judged(context, forgedBundle(files, partsOf(files), context.log))).faults, [])
  }
})

test('events that the query asks for are missed, whatever the signed manifest counts and claims to be complete for (A72)', async (context) => {
  for (const files of [context.run, context.part, context.whole]) {
    const parts = partsOf(files)
    for (const at of [0, 1, parts.lines.length - 1]) {
      const lines = parts.lines.filter((_, index) => index !== at)
      const predicate = recounted(parts.predicate, parts.headers, lines)
      assert.equal(await codes(context, forgedBundle(files, { ...parts, lines, predicate }, context.log)), [
        'event-missing',
      ])
    }
  }
})

test('a manifest that claims to be complete for less than it was asked for is TAMPERED (A72)', async (context) => {
  const parts = partsOf(context.run)
  const last = JSON.parse(headerOf(parts.lines.at(-1) ?? ''))
  const lines = parts.lines.slice(0, -1)
  const complete = { run: 'one', until: last.time }
  const predicate = { ...recounted(parts.predicate, parts.headers, lines), complete }
  const found = await codes(context, forgedBundle(context.run, { ...parts, lines, predicate }, context.log))
  assert.ok(found.includes('other-scope') && found.includes('event-missing'), found.join())
  for (const query of [
    { run: 'one', text: 'apple' },
    { run: 'one', verdict: 'accepted' },
    { run: 'one', since: 'today' },
    [],
  ]) {
    const asked = { ...parts.predicate, query: query as EventQuery }
    assert.ok(
      (await codes(context, forgedBundle(context.run, { ...parts, predicate: asked }, context.log))).includes(
        'manifest-form',
      ),
    )
  }
})

test('the trailer of the events says what is here, under the key of the log, or the bundle is TAMPERED (A72)', async (context) => {
  const { log } = context
  const parts = partsOf(context.part)
  const { filter, ledgerId, asOf, treeSize, root } = JSON.parse(
    textLines(context.part, 'events.jsonl').at(-1) ?? '',
  ).trailer
  const lines = [textLines(context.part, 'events.jsonl')[0] ?? '', ...parts.lines]
  const said = { ledgerId, asOf, treeSize, root, filter }
  const forged = (trailer: string): Files => forgedBundle(context.part, { ...parts, trailer }, log)
  assert.equal((await judged(context, forged(trailerLine(lines, log, said)))).faults, [])
  for (const other of [
    { events: 1 },
    { digest: `sha256:${'0'.repeat(64)}` },
    { filter: { actor: 'alice' } },
    { treeSize: 1 },
    { root: `sha256:${'0'.repeat(64)}` },
    { run: 'one' },
    { tenant: 'other' },
    { ledgerId: 'other' },
    { asOf: null },
  ])
    assert.equal(
      await codes(context, forged(trailerLine(lines, log, { ...said, ...other }))),
      ['trailer'],
      JSON.stringify(other),
    )
  const mallory: LogKey = { ...log, key: createLedgerKeys(new Date().toISOString(), randomBytes).checkpointKey }
  assert.equal(await codes(context, forged(trailerLine(lines, mallory, said))), ['trailer'])
  const claimed = trailerLine(lines, mallory, said).replace(
    /"key":"[^"]*"/,
    `"key":"${context.key.split('+').slice(0, 2).join('+')}"`,
  )
  assert.equal(await codes(context, forged(claimed)), ['trailer-signature'])
  const { signature: _, ...facts } = JSON.parse(trailerLine(lines, log, said)).trailer
  const old = `${JSON.stringify({ trailer: { ...facts, v: 1 } })}\n`
  assert.equal((await judged(context, forged(old))).faults, [], 'as version 0.1.0 made it')
  assert.equal(await codes(context, forged(`${JSON.stringify({ trailer: { ...facts, v: 3 } })}\n`)), ['trailer'])
  assert.equal(await codes(context, forged('')), ['no-trailer'])
})

test('report, README, keys and verifier that do not follow from the events are found, signed or not (A78)', async (context) => {
  const { run, log } = context
  for (const [name, from, to] of [
    ['report.html', 'alice', 'mallory'],
    ['report.html', '</body>', '<p>All is well.</p></body>'],
    ['README.txt', 'None of this shows', 'All of this shows'],
    ['jwks.json', '"sig"', '"enc"'],
  ] as const) {
    const text = textOf(run, name)
    assert.ok(text.includes(from))
    assert.equal(
      await codes(context, signedAgain(changed(run, name, text.replace(from, to)), log)),
      ['other-text'],
      name,
    )
  }
  const other = await judged(context, signedAgain(changed(run, 'verify.mjs', 'console.log("VERIFIED")\n'), log))
  assert.equal([other.verdict, other.faults.map(({ code }) => code)], ['UNVERIFIABLE', ['foreign-verifier']])
  const key = createLedgerKeys(new Date().toISOString(), randomBytes).checkpointKey
  const keyed = forgedBundle(run, partsOf(run), { ...log, key }).get('verifier-key.txt') ?? ''
  assert.equal(await codes(context, signedAgain(changed(run, 'verifier-key.txt', keyed), log)), ['other-key'])
})

test('each proof file proves its event, and there is one for each that should have one (A78)', async (context) => {
  const { run, log } = context
  const [first = '', second = ''] = [...run.keys()].filter((name) => name.startsWith('proofs/'))
  const text = textOf(run, first)
  const spoiled = [
    text.replace(/index \d+/, (found) => `${found}0`),
    text.replace(/\n([A-Za-z0-9+/]{43}=)\n/, '\n$1\n$1\n'),
    text.replace(/\n[A-Za-z0-9+/]{43}=\n/, '\n'),
    text.replace('tlog-proof@v1', 'tlog-proof@v2'),
    text.slice(0, -1),
    `${text}x`,
    textOf(run, second),
  ]
  for (const content of spoiled)
    assert.equal(await codes(context, signedAgain(changed(run, first, content), log)), ['proof'])
  const without = new Map(run)
  without.delete(first)
  assert.equal(await codes(context, signedAgain(without, log)), ['file-missing'])
  const more = changed(run, `proofs/${'0'.repeat(36)}.tlog-proof`, text)
  assert.equal(await codes(context, signedAgain(more, log)), ['foreign-file'])
})

test('a manifest counts what is here, names each file once, and says no more than a bundle can prove (A78)', async (context) => {
  const { run, log } = context
  const parts = partsOf(run)
  const { counts } = parts.predicate
  const saying = (more: object): Files =>
    forgedBundle(run, { ...parts, predicate: { ...parts.predicate, ...more } }, log)
  for (const name of ['events', 'matching', 'leaves'] as const)
    for (const by of [1, -1])
      assert.ok(
        (await codes(context, saying({ counts: { ...counts, [name]: counts[name] + by } }))).includes('count'),
        name,
      )
  assert.equal(await codes(context, saying({ checkedBy: 'everyone' })), ['manifest-form'])
  assert.equal(await codes(context, saying({ timeZone: 'CET' })), ['manifest-form'])
  assert.equal(await codes(context, saying({ proofs: 'first and last event' })), ['proofs'])
  assert.ok((await codes(context, saying({ tenant: 'other' }))).includes('other-checkpoint'))
  assert.ok(
    (await codes(context, saying({ checkpoint: { ...parts.predicate.checkpoint, size: 1 } }))).includes(
      'other-checkpoint',
    ),
  )
  assert.equal(await codes(context, saying({ origin: 'elsewhere/acme' })), ['other-log'])
  const unnamed = new Map(signedAgain(new Map([...run].filter(([name]) => name !== 'README.txt')), log))
  assert.equal(await codes(context, changed(unnamed, 'README.txt', textOf(run, 'README.txt'))), ['foreign-file'])
  const twice = new Map(
    [...run].flatMap((entry) => (entry[0] === 'jwks.json' ? [entry, ['jwks.json ', entry[1]] as const] : [entry])),
  )
  assert.equal(await codes(context, new Map([...signedAgain(twice, log)].filter(([name]) => name !== 'jwks.json '))), [
    'file-missing',
  ])
  assert.equal(await codes(context, signedAgain(run, { ...log, name: 'elsewhere/acme' })), ['manifest-signature'])
})

test('a line that was cut, a manifest in another form, and a file beside an unpacked bundle are found (A78)', async (context) => {
  const { run, log, folder, key } = context
  for (const name of ['log.jsonl', 'events.jsonl'])
    assert.equal(
      await codes(context, signedAgain(changed(run, name, `${textOf(run, name)}{`), log)),
      ['file-cut'],
      name,
    )
  const manifest = textOf(run, 'manifest.json')
  const twice = JSON.parse(manifest)
  twice.subject.push(twice.subject[0])
  for (const text of [JSON.stringify(JSON.parse(manifest)), ` ${manifest}`, JSON.stringify(twice, null, 2)])
    assert.equal(await codes(context, withManifest(run, text, log)), ['manifest-form'])
  const unpacked = folder.file('unpacked')
  for (const [name, content] of run) {
    mkdirSync(dirname(join(unpacked, name)), { recursive: true })
    writeFileSync(join(unpacked, name), content)
  }
  assert.is(verifyBundle(unpacked, { key }).verdict, 'VERIFIED')
  writeFileSync(join(unpacked, 'more.txt'), 'x')
  assert.equal(
    verifyBundle(unpacked, { key }).faults.map(({ code }) => code),
    ['foreign-file'],
  )
})

test('the log goes on from event to event: a hole, an event of another tenant, a clock that runs back, an event after disclosed keys (A72)', async (context) => {
  const { whole, log } = context
  const parts = partsOf(whole)
  const run = parts.lines.filter((line) => line.includes('"run-acme.one"'))
  const [second = '', last = ''] = [run[1], run.at(-1)]
  const forged = (lines: readonly string[], more: Partial<Forgery> = {}): Files => {
    const headers = lines.map(headerOf)
    return forgedBundle(whole, { headers, lines, predicate: recounted(parts.predicate, headers, lines), ...more }, log)
  }
  const edited = (line: string, from: RegExp | string, to: string): Files =>
    forged(parts.lines.map((each) => (each === line ? each.replace(from, to) : each)))
  assert.equal((await judged(context, forged(parts.lines))).faults, [])
  assert.equal(await codes(context, forged(parts.lines.filter((line) => line !== second))), ['chain'])
  assert.equal(await codes(context, edited(last, /"prev":"sha256:.{8}/, '"prev":"sha256:00000000')), ['chain'])
  assert.equal(await codes(context, edited(last, /"revision":\d+/, '"revision":99')), ['chain'])
  assert.equal(await codes(context, edited(last, '"tenant":"acme"', '"tenant":"evil"')), ['other-tenant'])
  assert.equal(await codes(context, edited(last, /"time":"20\d\d/, '"time":"1999')), ['time-order'])
  assert.equal(await codes(context, edited(last, /"time":"[^"]*"/, '"time":"soon"')), ['time-order'])
  assert.equal(await codes(context, edited(last, '"v":1}', '"v":2}')), ['unknown-version'])
  assert.equal(await codes(context, edited(last, '"actor":', '"actor":"x","actor":')), ['header-form'])
  const before = run.at(-2) ?? ''
  assert.ok(
    (await codes(context, edited(before, /"type":"[^"]*"/, '"type":"RunKeyDisclosed"'))).includes('after-disclosure'),
  )
  // Nothing stands behind the last event; that its type is another one only its mac, or a kept checkpoint, would show.
  assert.equal((await judged(context, edited(last, /"type":"[^"]*"/, '"type":"RunKeyDisclosed"'))).faults, [])
})

test('a file that no bundle has is found in an archive and in a folder, also where its manifest names and signs it (A78)', async (context) => {
  const { run, log, folder, key } = context
  const signed = signedAgain(changed(run, 'page.html', '<p>'), log)
  assert.equal((await codes(context, signed)).slice(0, 1), ['archive-entry'])
  const unpacked = folder.file('unpacked-page')
  for (const [name, content] of signed) {
    mkdirSync(dirname(join(unpacked, name)), { recursive: true })
    writeFileSync(join(unpacked, name), content)
  }
  const { verdict, faults } = verifyBundle(unpacked, { key })
  assert.is(verdict, 'TAMPERED')
  assert.match(
    faults.find(({ code }) => code === 'foreign-file')?.message ?? '',
    /page\.html.* does not belong in a bundle/,
  )
})

test.run()
