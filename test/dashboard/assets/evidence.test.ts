import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { checkEvidence, type Evidence } from '../../../src/dashboard/assets/evidence.ts'
import { rootOfProof, toHex } from '../../../src/dashboard/assets/merkle.ts'
import type { Caller } from '../../../src/ledger/ledger.ts'
import { leafHash, nodeHash } from '../../../src/merkle/hashes.ts'
import { proveInclusion } from '../../../src/merkle/inclusion.ts'
import { type HashReader, rangeRoot } from '../../../src/merkle/subtrees.ts'
import { testLogs } from '../../support/test-logs.ts'

const test = suite('dashboard: what a browser checks')

const caller: Caller = { tenant: 'acme', actor: 'tester' }

async function evidenceOf(revision: number): Promise<{ evidence: Evidence; key: string; other: string }> {
  await using opened = await testLogs()
  await opened.fill('acme', 'r', 6)
  await opened.logs.publish()
  const found = await opened.ledger.runEvents(caller, 'r', { from: 0 })
  if (!found.ok) throw new Error(found.refusal.detail)
  const events = []
  for await (const page of found.value) events.push(...page)
  const event = events[revision]
  if (event === undefined) throw new Error('no such event')
  const proof = opened.logs.proofFile('acme', event.header.id)
  const before = events[revision - 1]
  return {
    evidence: {
      ...event.texts,
      ...(before !== undefined && { before: before.texts.header }),
      ...(proof.ok && { proofFile: proof.value }),
    },
    key: opened.logs.verifierKey('acme'),
    other: opened.logs.verifierKey('beta'),
  }
}

const verdicts = async (evidence: Evidence, key: string) =>
  Object.fromEntries((await checkEvidence(evidence, key)).map(({ name, verdict }) => [name, verdict]))

const GOOD = { body: 'good', link: 'good', inclusion: 'good', signature: 'good' }

test('an event as it was sealed passes every check, the first one too', async () => {
  for (const revision of [0, 1, 7, 12]) {
    const { evidence, key } = await evidenceOf(revision)
    assert.equal(await verdicts(evidence, key), GOOD)
  }
})

test('a changed byte anywhere fails the check that it concerns', async () => {
  const { evidence, key } = await evidenceOf(5)
  const swap = (text: string, at: number) => `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
  const data = await verdicts({ ...evidence, data: evidence.data.replace('step', 'stop') }, key)
  assert.equal(data, { ...GOOD, body: 'bad' })
  assert.is((await verdicts({ ...evidence, salt: swap(evidence.salt, 3) }, key)).body, 'bad')
  const header = await verdicts({ ...evidence, header: evidence.header.replace('tester', 'tampee') }, key)
  assert.equal(header, { ...GOOD, inclusion: 'bad' })
  assert.equal(await verdicts({ ...evidence, before: swap(evidence.before ?? '', 20) }, key), { ...GOOD, link: 'bad' })
  const lines = (evidence.proofFile ?? '').split('\n')
  const moved = lines.map((line, index) => (index === 2 ? swap(line, 4) : line)).join('\n')
  assert.is((await verdicts({ ...evidence, proofFile: moved }, key)).inclusion, 'bad')
  const resized = (evidence.proofFile ?? '').replace(
    /\n(\d+)\n([A-Za-z0-9+/]{43}=)\n/,
    (_, size, root) => `\n${Number(size) + 1}\n${root}\n`,
  )
  assert.is((await verdicts({ ...evidence, proofFile: resized }, key)).signature, 'bad')
})

test('the checkpoint of another log, another key and no key at all are refused with a word', async () => {
  const { evidence, other } = await evidenceOf(5)
  const foreign = await evidenceOf(5)
  assert.is((await verdicts(evidence, other)).signature, 'bad')
  assert.is((await verdicts(evidence, foreign.key)).signature, 'bad')
  assert.is((await verdicts(evidence, 'nonsense')).signature, 'bad')
})

test('an event that no checkpoint covers yet is said to be open, never verified', async () => {
  const { evidence, key } = await evidenceOf(5)
  const { proofFile: _, ...uncovered } = evidence
  assert.equal(await verdicts(uncovered, key), { ...GOOD, inclusion: 'open', signature: 'open' })
})

function treeOf(leaves: readonly Uint8Array[]): { read: HashReader; root: Uint8Array } {
  const read: HashReader = ({ level, index }) => {
    if (level === 0) return leaves[index] ?? new Uint8Array()
    const below = level - 1
    return nodeHash(read({ level: below, index: 2 * index }), read({ level: below, index: 2 * index + 1 }))
  }
  return { read, root: rangeRoot({ begin: 0, end: leaves.length }, read) }
}

test('proofs of every leaf of every tree up to 70 lead to its root, and a shorter or longer one nowhere (A34)', async () => {
  for (const size of [1, 2, 3, 5, 8, 33, 70]) {
    const leaves = Array.from({ length: size }, (_, index) => leafHash(Buffer.from(String(index))))
    const { read, root } = treeOf(leaves)
    for (let index = 0; index < size; index += 1) {
      const proof = proveInclusion(index, size, read)
      const leaf = leaves[index] ?? new Uint8Array()
      assert.is(toHex((await rootOfProof({ index, size, leaf, proof })) ?? new Uint8Array()), toHex(root))
      const [shorter, longer] = [proof.slice(1), [...proof, leaf]]
      for (const wrong of proof.length === 0 ? [longer] : [shorter, longer]) {
        assert.is(await rootOfProof({ index, size, leaf, proof: wrong }), undefined)
      }
    }
  }
})

test.run()
