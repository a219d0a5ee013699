import { createSecretKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventQuery } from '../../../schemas/event-query.ts'
import { createRunKeys } from '../../../src/signing/key-ring.ts'
import type { BundleOptions } from '../../../src/verify/bundle/options.ts'
import type { BundlePredicate } from '../../../src/verify/bundle/predicate.ts'
import type { BundleVerdict } from '../../../src/verify/bundle/verdict.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { type Forgery, forgedBundle, partsOf, recounted, textLines } from '../../support/forged-bundle.ts'
import {
  checkpointOf,
  type Files,
  headerOf,
  type LogKey,
  packedBundle,
  signedAgain,
  trailerLine,
  withManifest,
} from '../../support/forgery.ts'
import { drive } from '../../support/run-driver.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

interface Context {
  log: LogKey
  key: string
  keyFor: NonNullable<BundleOptions['keyFor']>
  /** Bundles of a run, of a query, of the whole tenant, and of nothing of it. */
  run: Files
  part: Files
  whole: Files
  none: Files
}

const test = suite<Context>('export: faults of a bundle that one check alone can see')

test.before(async (context) => {
  using folder = tempFolder()
  await using home = await testLogs()
  const run = drive(home, 'one', { tenant: 'acme', actor: 'alice' })
  await run.start()
  await run.hand('researcher', { entities: ['Apple'] })
  await run.called('ship')
  await home.fill('acme', 'two', 60)
  const made = async (query: EventQuery): Promise<Files> => {
    await writeBundle(home.ledger, folder.file('made.tar'), { query })
    return unpackTar(readFileSync(folder.file('made.tar')))
  }
  context.run = await made({ run: 'one' })
  context.part = await made({ actor: 'alice', types: ['EnvelopeAccepted', 'ToolCallClaimed'] })
  context.none = await made({ until: '2000-01-01T00:00:00.000Z' })
  context.whole = await made({})
  context.log = { name: 'ledger.example/acme', key: home.keys.checkpointKey }
  context.key = home.logs.verifierKey('acme')
  const runKeys = createRunKeys(home.keys.ring)
  context.keyFor = ({ kid, tenant, stream }) => runKeys.keyFor(kid, tenant, stream) ?? null
})

const judged = async ({ key }: Context, files: Files, options: BundleOptions = {}): Promise<BundleVerdict> =>
  verifyBundle(await packedBundle(files), { key, ...options })

async function codes(context: Context, files: Files, options: BundleOptions = {}): Promise<readonly string[]> {
  const { verdict, faults } = await judged(context, files, options)
  assert.is.not(verdict, 'VERIFIED')
  return [...new Set(faults.map(({ code }) => code))].sort()
}

const trailerOf = (files: Files) => JSON.parse(textLines(files, 'events.jsonl').at(-1) ?? '').trailer

/** These lines, head included, under a trailer that fits them, in a bundle that says `predicate`. */
function withEvents({ log }: Context, files: Files, lines: readonly string[], predicate?: BundlePredicate): Files {
  const { ledgerId, asOf, treeSize, root, run, filter } = trailerOf(files)
  const said = { ledgerId, asOf, treeSize, root, run, ...(filter !== undefined && { filter }) }
  const trailer = trailerLine(lines, log, said)
  const made = predicate === undefined ? files : forgedBundle(files, { ...partsOf(files), predicate }, log)
  const events = Buffer.from([...lines, trailer].join(''))
  return signedAgain(new Map(made).set('events.jsonl', events), log, predicate)
}

test('a verifier key whose id is not that of its name and bytes is no key, nor is any other text (A89)', async (context) => {
  const [name = '', , bytes = ''] = context.key.split('+', 3)
  const rest = context.key.slice(name.length + 10)
  assert.ok(rest.startsWith(bytes))
  for (const key of [`${name}+00000000+${rest}`, 'no key', `${context.key.slice(0, -4)}AAAA`]) {
    const { verdict, faults } = await judged(context, context.run, { key })
    assert.equal([verdict, faults.map(({ code }) => code)], ['UNVERIFIABLE', ['key']], key)
  }
})

test('a checkpoint that its log did not sign is TAMPERED, whoever names it in a signed manifest (A89)', async (context) => {
  const { none, log } = context
  const note = none.get('checkpoint')?.toString() ?? ''
  const key = generateKeyPairSync('ed25519').privateKey
  const at = note.lastIndexOf(' ') + 1
  const signature = Buffer.from(note.slice(at), 'base64')
  const forged = Buffer.concat([signature.subarray(0, 4), sign(null, Buffer.from(note.split('\n\n')[0] ?? ''), key)])
  const changed = `${note.slice(0, at)}${forged.toString('base64')}\n`
  assert.equal(await codes(context, signedAgain(new Map(none).set('checkpoint', Buffer.from(changed)), log)), [
    'checkpoint',
  ])
  const kept = await judged(context, none, { checkpoint: changed })
  assert.equal([kept.verdict, kept.faults.map(({ code }) => code)], ['UNVERIFIABLE', ['checkpoint']])
})

test('a manifest of another kind is not one that this verifier understands (A89)', async (context) => {
  const statement = JSON.parse(context.run.get('manifest.json')?.toString() ?? '')
  const other = { ...statement, predicateType: 'https://example.org/other/v1' }
  const files = withManifest(context.run, JSON.stringify(other, null, 2), context.log)
  const { verdict, faults } = await judged(context, files)
  assert.equal([verdict, faults.map(({ code }) => code)], ['UNVERIFIABLE', ['manifest-type']])
})

test('a file that no bundle has is named, in an archive and in a folder (A89)', async (context) => {
  using folder = tempFolder()
  const more = new Map([...context.run, ['zzz.txt', Buffer.from('more')]])
  assert.is.not((await judged(context, more)).verdict, 'VERIFIED')
  for (const [name, content] of more) {
    mkdirSync(dirname(folder.file(name)), { recursive: true })
    writeFileSync(folder.file(name), content)
  }
  const found = verifyBundle(folder.path, { key: context.key })
  assert.equal([found.verdict, found.faults.map(({ code }) => code)], ['TAMPERED', ['foreign-file']])
})

test('every file that is gone is named, not only the first (A89)', async (context) => {
  const gone = ['README.txt', 'jwks.json', 'report.html']
  const { verdict, faults } = await judged(context, new Map([...context.run].filter(([name]) => !gone.includes(name))))
  assert.is(verdict, 'INCOMPLETE')
  for (const name of gone)
    assert.ok(
      faults.some(({ message }) => message === `${name} is missing`),
      name,
    )
})

test('events.jsonl begins with the filter that its query makes (A89)', async (context) => {
  const [, ...lines] = textLines(context.part, 'events.jsonl').slice(0, -1)
  const other = `${JSON.stringify({ filter: { actor: 'alice' } })}\n`
  assert.equal(await codes(context, withEvents(context, context.part, [other, ...lines])), ['other-scope'])
})

test('a line that is no event, though counted and signed, is TAMPERED (A89)', async (context) => {
  const { predicate, lines } = partsOf(context.run)
  const counts = { ...predicate.counts, events: predicate.counts.events + 1 }
  const said = { ...predicate, counts, proofs: 'first and last event' } as BundlePredicate
  const more = [...lines, '{"header":{},"salt":"","data":{}}\n']
  assert.equal(await codes(context, withEvents(context, context.run, more, said)), ['line'])
})

test('nothing stands behind the trailer: no event, no second trailer (A89)', async (context) => {
  const lines = textLines(context.run, 'events.jsonl')
  const events = lines.slice(0, -1)
  const [trailer = '', last = ''] = [lines.at(-1), events.at(-1)]
  for (const all of [
    [...lines, trailer],
    [...events.slice(0, -1), trailer, last],
  ])
    assert.equal(
      await codes(
        context,
        signedAgain(new Map(context.run).set('events.jsonl', Buffer.from(all.join(''))), context.log),
      ),
      ['after-trailer'],
    )
})

test('an event that the log does not hold, or holds once, and one out of its order are named (A89)', async (context) => {
  const { log, run, whole } = context
  const parts = partsOf(run)
  const [first = '', second = ''] = parts.lines
  const forged = (lines: readonly string[]): Files =>
    forgedBundle(run, { ...parts, lines, predicate: recounted(parts.predicate, parts.headers, lines) }, log)
  assert.equal(await codes(context, forged([second, first, ...parts.lines.slice(2)])), ['order'])
  const doubled = await codes(context, forged([first, ...parts.lines]))
  assert.ok(doubled.includes('not-in-log'), doubled.join())
  const stranger = partsOf(whole).lines.find((line) => line.includes('"run-acme.two"')) ?? ''
  const added = await codes(context, forged([...parts.lines, stranger]))
  assert.ok(added.includes('not-in-log'), added.join())
})

test('a body that is not the one that was sealed is TAMPERED, its report and counts rebuilt (A89)', async (context) => {
  const parts = partsOf(context.run)
  const lines = parts.lines.map((line) => line.replace('Apple', 'Pear'))
  assert.not.equal(lines, parts.lines)
  assert.equal(await codes(context, forgedBundle(context.run, { ...parts, lines }, context.log)), ['data-digest'])
})

test('macs are checked with the keys that were given: another key, or none for a run, is no proof (A89)', async (context) => {
  const { run, keyFor } = context
  const sound = await judged(context, run, { keyFor })
  assert.equal([sound.verdict, sound.macs], ['VERIFIED', sound.events])
  assert.equal(await codes(context, run, { keyFor: () => null }), ['mac'])
  assert.equal(await codes(context, run, { keyFor: () => createSecretKey(randomBytes(32)) }), ['mac'])
  const { kid, stream } = JSON.parse(headerOf(partsOf(run).lines[0] ?? ''))
  const key = randomBytes(32).toString('base64url')
  assert.equal(await codes(context, run, { runKey: { stream, keys: [{ kid, key }] } }), ['mac'])
  assert.equal(await codes(context, run, { runKey: { stream, keys: [{ kid: 'other', key }] } }), ['mac', 'run-key'])
  const other = await judged(context, run, { runKey: { stream: 'run-acme.two', keys: [{ kid, key }] } })
  assert.equal([other.verdict, other.faults.map(({ code }) => code)], ['UNVERIFIABLE', ['run-key']])
})

test('of many missing events the first hundred are named, and all are counted (A89)', async (context) => {
  const { whole, log } = context
  const parts = partsOf(whole)
  const predicate = recounted(parts.predicate, parts.headers, [])
  const { verdict, faults } = await judged(context, forgedBundle(whole, { ...parts, lines: [], predicate }, log))
  assert.equal([verdict, faults.length], ['INCOMPLETE', 101])
  assert.match(faults[0]?.message ?? '', new RegExp(`^${parts.headers.length} events are not in events.jsonl`))
})

test('a file is the one whose digest the manifest names, also where it is what the events make (A89)', async (context) => {
  const text = context.run.get('manifest.json')?.toString() ?? ''
  for (const name of ['README.txt', 'log.jsonl', 'events.jsonl', 'verify.mjs', 'checkpoint']) {
    const statement = JSON.parse(text)
    for (const subject of statement.subject) if (subject.name === name) subject.digest.sha256 = '0'.repeat(64)
    const files = withManifest(context.run, JSON.stringify(statement, null, 2), context.log)
    assert.equal(await codes(context, files), ['file-digest'], name)
  }
})

test('the log is as long as its checkpoint says, and makes its root, where no proof file would show it (A89)', async (context) => {
  const { none, log } = context
  const parts = partsOf(none)
  const { headers } = parts
  const forged = (more: Partial<Forgery>, covered: readonly string[]): Files => {
    const all = { ...parts, ...more }
    const predicate = recounted(all.predicate, covered, [])
    const counts = { ...predicate.counts, leaves: all.headers.length }
    return forgedBundle(none, { ...all, predicate: { ...predicate, counts }, note: checkpointOf(covered, log) }, log)
  }
  assert.equal((await judged(context, forged({}, headers))).faults, [])
  const shorter = headers.slice(0, -1)
  assert.equal(await codes(context, forged({ headers: shorter }, headers)), ['log-behind-checkpoint'])
  assert.equal(await codes(context, forged({}, shorter)), ['root'])
  assert.equal(await codes(context, forged({}, [...shorter, headers[0] ?? ''])), ['root'])
})

test.run()
