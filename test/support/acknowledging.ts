/** @module Losses that a test lists and acknowledges, and what the log, `verify` and a tree of another making say of the store after it. */
import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import { verifyTarget } from '../../src/cli/verify-target.ts'
import { openLogAtRest } from '../../src/compose/log-at-rest.ts'
import { noteVerifier } from '../../src/merkle/note-key.ts'
import type { ServerPlace } from '../../src/settings/places.ts'
import { createRunKeys } from '../../src/signing/key-ring.ts'
import { type LedgerKeys, logKeyChain } from '../../src/signing/ledger-keys.ts'
import { alice } from './lossy-site.ts'
import type { TestLogs } from './test-logs.ts'

export const reason = 'no copy has it any more'

/** Of a tenant, as its administrator; of `acme` where none is named. */
export const acknowledge = async (
  { ledger }: Pick<TestLogs, 'ledger'>,
  stream: string,
  revision: number,
  admin: { readonly tenant: string; readonly actor: string } = alice,
) => {
  const found = await ledger.lostEvents.acknowledge(admin, { stream, revision, reason })
  return found.ok ? found.value : found.refusal.code
}

export const listed = async ({ ledger }: Pick<TestLogs, 'ledger'>, admin = alice): Promise<readonly string[]> => {
  const found = await ledger.lostEvents.list(admin)
  if (!found.ok) throw new Error(found.refusal.detail)
  return found.value.items.map(({ state, scope, code, stream, revision, to }) =>
    stream === undefined
      ? `${state} ${scope} ${code}`
      : `${state} ${stream} @ ${revision}${to === undefined ? '' : `-${to}`}`,
  )
}

export interface VerifiedPlace {
  /** Of the store in a file; on a server, of the file that would be it: the log and the checkpoints are beside it. */
  readonly path: string
  readonly keys: LedgerKeys
  readonly server?: ServerPlace
}

export interface FoundBesideKeys {
  readonly verdict: string
  readonly faults: readonly string[]
  readonly putBack?: number
}

/** As `countersign verify` finds the store, with the log and the checkpoints that were kept beside it. */
export async function verified({ path, keys, server }: VerifiedPlace): Promise<FoundBesideKeys> {
  const chain = logKeyChain(keys)
  const faults: string[] = []
  const target =
    server === undefined
      ? ({ kind: 'store', name: path } as const)
      : ({ kind: 'server', name: server.kind, server, keptBeside: path } as const)
  const { result } = await verifyTarget(target, {
    keys: {
      ring: keys.ring,
      runKeys: createRunKeys(keys.ring),
      verifierKeys: (name) => chain.map((key) => noteVerifier(name, key).text),
    },
    findKey: (name) => ({ verifier: noteVerifier(name, chain[0] as never), whence: 'here' }) as never,
    logIn: (beside) => openLogAtRest(beside, keys),
    onFault: ({ code, stream, revision }) => faults.push(`${code} ${stream} @ ${revision}`),
  })
  const { verdict, putBack } = result
  return { verdict, faults, ...(putBack !== undefined && { putBack }) }
}

/** RFC 6962, from the headers, by another hand than that of the product. */
function rootOf(headers: readonly string[]): string {
  const sha = (...parts: readonly (string | Uint8Array)[]): Buffer =>
    parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()
  const tree = (from: number, to: number): Buffer => {
    if (to - from === 1) return sha(Uint8Array.of(0), headers[from] ?? '')
    let half = 1
    while (half * 2 < to - from) half *= 2
    return sha(Uint8Array.of(1), tree(from, from + half), tree(from + half, to))
  }
  return tree(0, headers.length).toString('base64')
}

interface Row {
  readonly stream: string
  readonly header: string
}

/** The checkpoint of `acme` is of the tree of these events, in order: what was written before anything was lost, and what came since. */
export function isOfAll({ logs }: Pick<TestLogs, 'logs'>, all: readonly Row[]): void {
  const checkpoint = logs.checkpoint('acme')
  if (!checkpoint.ok) throw new Error(checkpoint.code)
  const [, size = '0', root] = checkpoint.value.split('\n')
  const ofAcme = all.filter(({ stream }) => /^(?:run-acme\.|ledger-acme$|access-acme)/.test(stream))
  assert.ok(Number(size) <= ofAcme.length)
  assert.is(root, rootOf(ofAcme.slice(0, Number(size)).map(({ header }) => header)))
  assert.is(logs.state('acme').published, Number(size))
}

/** What there was, and what came since; `at` tells events apart. */
export function withLater<T>(before: readonly T[], now: readonly T[], at: (row: T) => unknown): readonly T[] {
  const known = new Set(before.map(at))
  return [...before, ...now.filter((row) => !known.has(at(row)))]
}
