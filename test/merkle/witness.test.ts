import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formatAddCheckpoint, SIZE_TYPE } from '../../src/merkle/add-checkpoint.ts'
import { formatCheckpoint } from '../../src/merkle/checkpoint.ts'
import { CompactTree } from '../../src/merkle/compact-tree.ts'
import { proveConsistency } from '../../src/merkle/consistency.ts'
import { leafHash } from '../../src/merkle/hashes.ts'
import { noteSigner } from '../../src/merkle/note-key.ts'
import { signNote } from '../../src/merkle/signed-note.ts'
import type { HashReader } from '../../src/merkle/subtrees.ts'
import { judgeAddCheckpoint, type Witnessed, type WitnessVerdict } from '../../src/merkle/witness.ts'

const test = suite('merkle: what a witness decides')

const ORIGIN = 'example.com/log'
const { privateKey } = generateKeyPairSync('ed25519')
const { privateKey: strangerKey } = generateKeyPairSync('ed25519')
const signer = noteSigner(ORIGIN, privateKey)

/** Roots and a reader of a log whose leaves are named after it. */
function logOf(name: string, size: number): { rootAt: (size: number) => Uint8Array; read: HashReader } {
  const nodes = new Map<string, Uint8Array>()
  const tree = new CompactTree()
  const roots = [tree.root()]
  for (let i = 0; i < size; i += 1) {
    tree.append(leafHash(`${name} ${i}`), (level, index, hash) => nodes.set(`${level}/${index}`, hash))
    roots.push(tree.root())
  }
  const given = (hash: Uint8Array | undefined): Uint8Array => {
    if (hash === undefined) throw new RangeError('no such node')
    return hash
  }
  return { rootAt: (at) => given(roots[at]), read: ({ level, index }) => given(nodes.get(`${level}/${index}`)) }
}

const log = logOf('log', 20)
const fork = logOf('fork', 20)
const cosigned = (size: number): Witnessed => ({ size, root: log.rootAt(size), note: noteOf({ from: 0, size }) })

interface Posted {
  readonly from: number
  readonly size: number
  readonly tree?: typeof log
  readonly origin?: string
  readonly key?: KeyObject
  readonly proof?: readonly Uint8Array[]
}

function noteOf({ size, tree = log, origin = ORIGIN, key = privateKey }: Posted): string {
  return signNote(formatCheckpoint({ origin, size, root: tree.rootAt(size) }), [noteSigner(origin, key)])
}

function post(posted: Posted, last?: Witnessed): WitnessVerdict {
  const { from, size, tree = log } = posted
  const proof = posted.proof ?? (from <= size ? proveConsistency(from, size, tree.read) : [])
  const request = formatAddCheckpoint({ oldSize: from, proof, checkpoint: noteOf(posted) })
  const witnessed = new Map(last === undefined ? [] : [[ORIGIN, last] as const])
  return judgeAddCheckpoint(request, { logs: new Map([[ORIGIN, [[signer.verifier]]]]), witnessed })
}

test('a log is cosigned from its first checkpoint on, along proofs', () => {
  assert.is(post({ from: 0, size: 7 }).status, 200)
  assert.is(post({ from: 7, size: 20 }, cosigned(7)).status, 200)
  assert.is(post({ from: 7, size: 7 }, cosigned(7)).status, 200)
  assert.is(post({ from: 0, size: 0 }).status, 200)
})

test('a checkpoint of a size that the witness has left behind is answered with the size that it knows (A33)', () => {
  for (const posted of [
    { from: 0, size: 20 },
    { from: 5, size: 20 },
    { from: 5, size: 6 },
    { from: 0, size: 0 },
  ]) {
    assert.equal(post(posted, cosigned(7)), { status: 409, body: '7\n', contentType: SIZE_TYPE })
  }
})

test('wrong origin, wrong key, falling sizes and a proof that does not lead there have the statuses of the C2SP text (A33)', () => {
  assert.is(post({ from: 0, size: 7, origin: 'example.com/other' }).status, 404)
  assert.is(post({ from: 0, size: 7, key: strangerKey }).status, 403)
  assert.is(post({ from: 7, size: 6 }, cosigned(7)).status, 400)
  assert.is(post({ from: 7, size: 20, proof: [] }, cosigned(7)).status, 422)
  assert.is(post({ from: 7, size: 20, proof: proveConsistency(6, 20, log.read) }, cosigned(7)).status, 422)
  const knowledge = { logs: new Map([[ORIGIN, [[signer.verifier]]]]), witnessed: new Map() }
  for (const body of ['', 'old 0\n\n', 'old 0\n\nx\n', `old 00\n\n${noteOf({ from: 0, size: 7 })}`]) {
    assert.is(judgeAddCheckpoint(body, knowledge).status, 400)
  }
})

test('a proof from size 0 is answered with 400 and why, whatever the witness knows; size 0 without one is a first checkpoint (LOG-9)', () => {
  for (const knowledge of [undefined, cosigned(7)]) {
    const asked = post({ from: 0, size: 20, proof: [log.rootAt(3)] }, knowledge)
    assert.is(asked.status, 400)
    assert.match('body' in asked ? asked.body : '', /no consistency proof from size 0 \(RFC 6962\)/)
  }
  assert.is(post({ from: 0, size: 20 }).status, 200)
})

const evidenceOf = (verdict: WitnessVerdict) => ('evidence' in verdict ? verdict.evidence : undefined)

test('two trees of one size, and a proof that shows a fork, are evidence by the signatures of the log; the two notes are stored together (A32, A64, LOG-10)', () => {
  const sameSize = post({ from: 7, size: 7, tree: fork }, cosigned(7))
  assert.is(sameSize.status, 409)
  const notes = [noteOf({ from: 0, size: 7 }), noteOf({ from: 0, size: 7, tree: fork })]
  assert.equal(evidenceOf(sameSize), { origin: ORIGIN, kind: 'same-size', notes, proof: [] })
  // It shows whichever size the request claims to come from.
  assert.equal(evidenceOf(post({ from: 0, size: 7, tree: fork }, cosigned(7))), evidenceOf(sameSize))

  const forked = post({ from: 7, size: 20, tree: fork }, cosigned(7))
  assert.is(forked.status, 422)
  assert.equal(evidenceOf(forked), {
    origin: ORIGIN,
    kind: 'fork',
    notes: [noteOf({ from: 0, size: 7 }), noteOf({ from: 0, size: 20, tree: fork })],
    proof: proveConsistency(7, 20, fork.read).map((hash) => Buffer.from(hash)),
  })
})

test('a genuine checkpoint under a wrong proof accuses nobody: no evidence from any proof, of any two sizes (A64)', () => {
  const strange = leafHash('strange')
  for (let from = 0; from <= 20; from += 1) {
    for (let size = from; size <= 20; size += 1) {
      const right = proveConsistency(from, size, log.read)
      const wrong = [
        [],
        [strange],
        [...right, strange],
        right.slice(1),
        right.slice(0, -1),
        [...right].reverse(),
        ...right.map((_, i) => right.with(i, strange)),
        ...(from > 0 ? [proveConsistency(from - 1, size, log.read)] : []),
        ...(from > 0 && from < size ? [proveConsistency(from, size, fork.read)] : []),
      ]
      for (const proof of wrong) {
        assert.is(evidenceOf(post({ from, size, proof }, cosigned(from))), undefined, `${from} to ${size}`)
      }
    }
  }
})

test('a checkpoint that a stranger signed, and one that contradicts what is only remembered without its note, are no evidence (A64)', () => {
  assert.is(evidenceOf(post({ from: 7, size: 7, tree: fork, key: strangerKey }, cosigned(7))), undefined)
  const { note: _, ...remembered } = cosigned(7)
  const verdict = post({ from: 7, size: 7, tree: fork }, remembered)
  assert.equal([verdict.status, evidenceOf(verdict)], [409, undefined])
})

test('signature lines of unknown keys are passed over, at least sixteen of them, and stand in nothing that is stored (A65)', () => {
  const strangers = Array.from({ length: 99 }, (_, i) => noteSigner(`stranger-${i}`, strangerKey))
  const text = formatCheckpoint({ origin: ORIGIN, size: 7, root: log.rootAt(7) })
  const knowledge = { logs: new Map([[ORIGIN, [[signer.verifier]]]]), witnessed: new Map() }
  const add = (count: number): WitnessVerdict => {
    const checkpoint = signNote(text, [...strangers.slice(0, count), signer])
    return judgeAddCheckpoint(formatAddCheckpoint({ oldSize: 0, proof: [], checkpoint }), knowledge)
  }
  for (const count of [16, 99]) {
    const verdict = add(count)
    assert.is(verdict.status === 200 && verdict.note, noteOf({ from: 0, size: 7 }))
  }
  assert.is(
    judgeAddCheckpoint(`old 0\n\n${noteOf({ from: 0, size: 7 })}${'\u2014 x AAAAAAAA\n'.repeat(100)}`, knowledge)
      .status,
    400,
  )
})

test.run()
