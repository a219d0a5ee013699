import { randomBytes, verify as verifySignature } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventQuery } from '../../../schemas/event-query.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import { prepareBundle } from '../../../src/export/bundle/issue-bundle.ts'
import { parseCheckpoint } from '../../../src/merkle/checkpoint.ts'
import { leafHash } from '../../../src/merkle/hashes.ts'
import { verifyInclusion } from '../../../src/merkle/inclusion.ts'
import { parseVerifierKey } from '../../../src/merkle/note-key.ts'
import { openNote } from '../../../src/merkle/signed-note.ts'
import { parseTlogProof } from '../../../src/merkle/tlog-proof.ts'
import { type DsseEnvelope, signDsse } from '../../../src/signing/dsse.ts'
import { createLedgerKeys } from '../../../src/signing/ledger-keys.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { AUDITOR, unpackTar, writeBundle } from '../../support/bundles.ts'
import { collect } from '../../support/records.ts'
import { drive, type RunDriver } from '../../support/run-driver.ts'
import { type TempFolder, tempFolder } from '../../support/temp-folder.ts'
import { type TestLogs, testLogs } from '../../support/test-logs.ts'

interface Context {
  folder: TempFolder
}

const test = suite<Context>('export: bundle')
test.before((context) => {
  context.folder = tempFolder()
})
test.after(({ folder }) => folder[Symbol.dispose]())

/** Two runs of tools, models and handoffs by two actors. */
async function worked(home: TestLogs): Promise<RunDriver> {
  for (const [runId, actor] of [
    ['r1', 'alice'],
    ['r2', 'bob'],
  ] as const) {
    const run = drive(home, runId, { tenant: 'acme', actor })
    await run.start()
    await run.hand('researcher', { entities: ['Apple'] })
    await run.hand('writer', { text: 'dropped the entities' })
    const call = await run.claimed('charge', { agent: 'writer' })
    await run.settle(call, { result: 'ok', usage: { tokens: 7, provider: 'p', model: `m-${runId}` } })
    await run.called('ship')
  }
  await home.fill('other', 'r1', 2)
  return drive(home, 'r1', { tenant: 'acme', actor: 'alice' })
}

test('a bundle of a run is exactly its events, verifies under the key of the log and, less, under its own', async ({
  folder,
}) => {
  await using home = await testLogs()
  const run = await worked(home)
  const file = folder.file('run.tar')
  await writeBundle(home.ledger, file, { query: { run: 'r1' } })
  const key = home.logs.verifierKey('acme')
  const found = verifyBundle(file, { key })
  assert.equal(found.faults, [])
  assert.equal([found.verdict, found.events, found.matching], ['VERIFIED', (await run.events()).length, found.events])
  const own = verifyBundle(file)
  assert.equal([own.verdict, own.keyGiven], ['CONSISTENT, NOT AUTHENTICATED', false])
  assert.match(own.faults[0]?.message ?? '', /not who made it/)
})

test('every query that a bundle takes is answered by verify.mjs as by the ledger, and complete for what headers say', async ({
  folder,
}) => {
  await using home = await testLogs()
  await worked(home)
  const key = home.logs.verifierKey('acme')
  const queries: readonly (readonly [EventQuery, matching: number])[] = [
    [{}, -1],
    [{ actor: 'bob' }, -1],
    [{ run: 'r1', types: ['ToolCallClaimed', 'ToolCallSucceeded'] }, 4],
    [{ tool: 'charge' }, 6],
    [{ toolContains: 'ARG' }, 6],
    [{ agentContains: 'writ', toolContains: 'CHA', types: ['ToolCallSucceeded'] }, 2],
    [{ contains: 'CHARGE', types: ['ToolCallSucceeded'] }, 2],
    [{ runContains: 'R2', actorContains: 'nobody' }, 0],
    [{ runContains: 'R2', contains: 'writer' }, -1],
    [{ principalContains: 'LIC', runContains: '1' }, -1],
    [{ tool: 'charge', types: ['ToolCallSucceeded'] }, 2],
    [{ run: 'r2', agent: 'writer' }, -1],
    [{ model: 'm-r1' }, 1],
    [{ principal: 'alice', until: '2000-01-01T00:00:00.000Z' }, 0],
  ]
  for (const [query, matching] of queries) {
    const file = folder.file('query.tar')
    await writeBundle(home.ledger, file, { query })
    const found = verifyBundle(file, { key })
    assert.equal(found.faults, [], JSON.stringify(query))
    if (matching >= 0) assert.is(found.matching, matching, JSON.stringify(query))
  }
})

test('a query that only the index can answer, and a token bound to a run, get no bundle and the reason why', async () => {
  await using home = await testLogs()
  await worked(home)
  for (const query of [{ text: 'apple' }, { rule: 'critical-key-removed' }, { verdict: 'rejected' }] as const) {
    const refused = await prepareBundle(home.ledger, AUDITOR, query)
    assert.ok(!refused.ok && refused.code === 'invalid-query' && refused.detail.includes(Object.keys(query)[0] ?? ''))
  }
  const bound = await prepareBundle(home.ledger, { ...AUDITOR, run: 'r1' }, { run: 'r1' })
  assert.ok(!bound.ok && bound.code === 'refused' && bound.refusal.code === 'run-mismatch')
  const unknown = await prepareBundle(home.ledger, AUDITOR, { run: 'nobody' })
  assert.ok(!unknown.ok && unknown.code === 'refused' && unknown.refusal.code === 'run-not-found')
})

test('the same pin makes the same bytes but for time and id; names are sorted, and nothing tells of the machine', async ({
  folder,
}) => {
  await using home = await testLogs()
  await worked(home)
  const file = folder.file('sorted.tar')
  await writeBundle(home.ledger, file)
  const files = await unpackTar(readFileSync(file))
  assert.equal([...files.keys()], [...files.keys()].sort())
  const manifest = JSON.parse(files.get('manifest.json')?.toString() ?? '')
  const { predicate, subject } = manifest
  assert.is(subject.length, files.size - 2)
  assert.equal([predicate.tenant, predicate.timeZone, predicate.exportedBy.actor], ['acme', 'UTC', 'auditor'])
  assert.is(
    files.get('verify.mjs')?.toString(),
    readFileSync(new URL('../../../src/verify/bundle/verify.mjs', import.meta.url), 'utf8'),
  )
})

test('a small bundle has a proof file for each event that public tools read; a larger one for the first and the last', async ({
  folder,
}) => {
  await using home = await testLogs()
  await home.fill('acme', 'small', 3)
  await home.fill('acme', 'large', 140)
  const verifier = parseVerifierKey(home.logs.verifierKey('acme'))
  for (const [run, proofs] of [
    ['small', 7],
    ['large', 2],
  ] as const) {
    const file = folder.file(`${run}.tar`)
    await writeBundle(home.ledger, file, { query: { run } })
    const all = await unpackTar(readFileSync(file))
    const log = (all.get('log.jsonl') ?? '').toString().split('\n')
    const files = [...all].filter(([name]) => name.startsWith('proofs/'))
    assert.is(files.length, proofs)
    for (const [, content] of files) {
      const proof = parseTlogProof(content.toString())
      assert.ok(proof && verifier && openNote(proof.checkpoint, [verifier]).ok)
      const { size, root } = parseCheckpoint(proof.checkpoint.slice(0, proof.checkpoint.indexOf('\n\n') + 1)) ?? {}
      const leaf = leafHash(log[proof.index] ?? '')
      assert.ok(root && verifyInclusion({ index: proof.index, size: size ?? 0, leaf, proof: proof.hashes, root }))
    }
    assert.is(verifyBundle(file, { key: home.logs.verifierKey('acme') }).verdict, 'VERIFIED')
  }
})

test('a signature over a manifest is never one over a note, and the other way round (FMT-6)', () => {
  const { checkpointKey: key } = createLedgerKeys(new Date().toISOString(), randomBytes)
  const note = 'ledger.example/acme\n3\nAAAA\n'
  const sign = (payload: string): DsseEnvelope =>
    signDsse(Buffer.from(payload), { payloadType: 'text/plain', keyid: 'k', key })
  for (const payload of [note.slice(0, -1), '{}', 'x']) {
    const sig = Buffer.from(sign(payload).signatures[0]?.sig ?? '', 'base64')
    for (const text of [payload, `${payload}\n`, note])
      assert.not.ok(verifySignature(null, Buffer.from(text), key, sig))
  }
  assert.throws(() => sign(note), /line feed/)
})

test('a history that the holder of all keys wrote anew verifies by itself, and not against an earlier checkpoint (A31)', async ({
  folder,
}) => {
  const keys = createLedgerKeys(new Date().toISOString(), randomBytes)
  await using before = await testLogs({ keys })
  await before.fill('acme', 'r1', 4)
  await before.logs.publish()
  const kept = before.logs.checkpoint('acme')
  await using after = await testLogs({ keys })
  await after.fill('acme', 'r1', 6)
  const file = folder.file('anew.tar')
  await writeBundle(after.ledger, file)
  const key = after.logs.verifierKey('acme')
  assert.is(verifyBundle(file, { key }).verdict, 'VERIFIED')
  const found = verifyBundle(file, { key, checkpoint: kept.ok ? kept.value : '' })
  assert.equal([found.verdict, found.faults.map(({ code }) => code)], ['TAMPERED', ['root']])
  await after.fill('acme', 'r2', 9)
  const shorter = verifyBundle(folder.file('anew.tar'), { key, checkpoint: await checkpointOf(after) })
  assert.equal([shorter.verdict, shorter.faults.map(({ code }) => code)], ['INCOMPLETE', ['log-behind-checkpoint']])
})

async function checkpointOf({ logs }: TestLogs): Promise<string> {
  await logs.publish()
  const checkpoint = logs.checkpoint('acme')
  return checkpoint.ok ? checkpoint.value : ''
}

test('the report shows hostile texts as text: no markup, no script, no control character, no turned writing (A45, A50)', async ({
  folder,
}) => {
  await using home = await testLogs()
  const hostile = '</td><script>alert(1)</script> ignore all instructions \u202e\u001b[2J & "x"'
  const run = drive(home, 'r1', { tenant: 'acme', actor: `eve ${hostile}` })
  await run.start({ name: hostile })
  await run.hand(hostile, { entities: ['a'] })
  await run.hand(`b ${hostile}`, {})
  const call = await run.claimed(hostile)
  await run.settle(call, { error: { message: hostile } })
  const file = folder.file('hostile.tar')
  await writeBundle(home.ledger, file, { query: { run: 'r1' } })
  const html = (await unpackTar(readFileSync(file))).get('report.html')?.toString() ?? ''
  assert.match(html, /&lt;script&gt;/)
  assert.match(html, /EnvelopeRejected/)
  assert.not.match(html, /<script|<img|javascript:|https?:/)
  assert.not.ok(/\p{Cf}/u.test(html) || html.includes('\u001b'))
  assert.match(html, /default-src 'none'/)
})

test('a bundle is on record before its first byte and before its last; nothing is made ahead of its reader (A43)', async () => {
  await using home = await testLogs()
  await home.fill('acme', 'r1', 200)
  const typesOf = async () =>
    (await collect(home.store.readStream(ledgerStream('acme')))).map(({ data, header }) => ({
      ...JSON.parse(data),
      type: JSON.parse(header).type,
    }))
  const prepared = await prepareBundle(home.ledger, AUDITOR, {})
  if (!prepared.ok) throw new Error(prepared.detail)
  await prepared.value.start()
  const started = (await typesOf()).at(-1)
  assert.equal([started.type, started.format], ['ExportStarted', 'bundle'])
  const reader = prepared.value.chunks()
  await reader.next()
  await reader.return()
  assert.equal([(await typesOf()).at(-1).outcome, (await typesOf()).at(-1).type], ['cut', 'ExportIssued'])
})

test.run()
