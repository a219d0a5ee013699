import { randomBytes } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import type { Checkpoint } from '../../src/merkle/checkpoint.ts'
import { CompactTree } from '../../src/merkle/compact-tree.ts'
import { noteVerifier } from '../../src/merkle/note-key.ts'
import { createLedgerKeys } from '../../src/signing/ledger-keys.ts'
import { judgeCompleteness } from '../../src/verify/export-completeness.ts'
import { ExportTree } from '../../src/verify/export-tree.ts'
import { trailerLine } from '../support/forgery.ts'

const test = suite('verify: whether an export is complete')

const DIGEST = `sha256:${'0'.repeat(64)}`
const FACTS = { ledgerId: 'x', run: null, events: 0, digest: DIGEST, asOf: null }
const checkpointOf = (size: number): Checkpoint => ({
  origin: 'l.example/acme',
  size,
  root: randomBytes(32),
  extensions: [],
})
const trailerOf = (said: Partial<ExportTrailer> = {}): ExportTrailer =>
  ({ v: 1, ...FACTS, tenant: 'acme', ...said }) as ExportTrailer
const judged = (trailer: ExportTrailer, kept?: { tenant: string; checkpoint: Checkpoint }) =>
  judgeCompleteness({ trailer, tree: new ExportTree(kept?.checkpoint), kept: kept as never, findKey: undefined })
const codes = (trailer: ExportTrailer, kept?: { tenant: string; checkpoint: Checkpoint }) =>
  judged(trailer, kept).faults.map(({ code }) => code)

test('a checkpoint is held against the whole log of its own tenant, and says nothing about another one', () => {
  assert.equal(codes(trailerOf(), { tenant: 'acme', checkpoint: checkpointOf(2) }), ['log-behind-checkpoint'])
  assert.equal(codes(trailerOf(), { tenant: 'other', checkpoint: checkpointOf(2) }), ['completeness-unproven'])
})

test('a checkpoint over nothing takes nothing away', () => {
  assert.equal(codes(trailerOf(), { tenant: 'acme', checkpoint: checkpointOf(0) })[0], undefined)
})

test('of a run, and of a query, nothing proves that its end is there: neither a trailer nor a checkpoint; what would is named', () => {
  for (const part of [{ run: 'r' }, { filter: { agent: 'a' } }])
    for (const kept of [undefined, { tenant: 'acme', checkpoint: checkpointOf(2) }]) {
      const { proven, statement, faults } = judged(trailerOf(part), kept)
      assert.equal([proven, faults.map(({ code }) => code)], [false, ['completeness-unproven']])
      assert.match(statement, 'export --bundle')
      assert.is(statement.includes('shows nothing of a part'), kept !== undefined)
    }
})

test('what is missing for the proof is said: the signature that the trailer lacks, or what to hold against it', () => {
  const { statement } = judged(trailerOf())
  assert.match(statement, 'no signature')
  assert.match(statement, '--checkpoint')
  assert.match(
    judged(trailerOf(), { tenant: 'other', checkpoint: checkpointOf(1) }).statement,
    'give the key of the log',
  )
})

test('a checkpoint that covers a part is said to, and so is a signed trailer that names no tree', () => {
  const key = createLedgerKeys('2026-01-01T00:00:00.000Z', randomBytes).checkpointKey
  const log = { name: 'l.example/acme', key }
  const { trailer } = JSON.parse(trailerLine([], log, { treeSize: null, root: null }))
  const input = { trailer, tree: new ExportTree(), kept: undefined, findKey: () => noteVerifier(log.name, key) }
  assert.match(judgeCompleteness(input).statement, 'its trailer names no tree')
  const nothing = { tenant: 'acme', checkpoint: { ...checkpointOf(0), root: new CompactTree().root() } }
  const covered = judgeCompleteness({
    trailer: trailerOf({ events: 1 }),
    tree: oneLeaf(nothing.checkpoint),
    kept: nothing as never,
    findKey: undefined,
  })
  assert.match(covered.statement, 'your checkpoint covers the first 0 of 1 events')
})

function oneLeaf(kept: Checkpoint): ExportTree {
  const tree = new ExportTree(kept)
  const header = JSON.stringify({ stream: 'run-acme.r', type: 'RunStarted', revision: 0 })
  tree.take({ stream: 'run-acme.r', revision: 0, header, salt: new Uint8Array(16), data: '{}' })
  return tree
}

test.run()
