/** @module A small ledger on disk, made by the real parts and closed: what verification and its attackers work on. */
import { copyFileSync } from 'node:fs'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Caller, Command, Ledger } from '../../src/ledger/ledger.ts'
import { noteVerifier } from '../../src/merkle/note-key.ts'
import { readSettings } from '../../src/settings/config.ts'
import { requireKeys } from '../../src/settings/key-source.ts'
import { createRunKeys } from '../../src/signing/key-ring.ts'
import { logKeyChain } from '../../src/signing/ledger-keys.ts'
import type { VerifyKeys } from '../../src/verify/verify-records.ts'
import { type TempFolder, tempFolder } from './temp-folder.ts'

export const CALLER: Caller = { tenant: 'acme', actor: 'tester', principal: 'owner' }

export interface SmallStore extends Disposable {
  readonly folder: TempFolder
  readonly path: string
  readonly keysPath: string
  readonly keys: VerifyKeys
  /** A copy to tamper with. */
  readonly copy: (name: string) => string
}

/** Two runs, interleaved, with handoffs, a refusal, and calls; every kind of header field occurs. */
export async function smallStore(fill: (ledger: Ledger) => Promise<void> = twoRuns): Promise<SmallStore> {
  const folder = tempFolder()
  const settings = readSettings({ data: folder.path, 'checkpoint-seconds': '0' }, {})
  await using opened = await openLedger(settings, silentLog)
  await fill(opened.ledger)
  await opened[Symbol.asyncDispose]()
  const path = folder.file('store.db')
  const keysPath = folder.file('keys.json')
  return {
    folder,
    path,
    keysPath,
    keys: verifyKeysOf(keysPath),
    copy: (name) => {
      const target = folder.file(name)
      copyFileSync(path, target)
      return target
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

export function verifyKeysOf(path: string): VerifyKeys {
  const keys = requireKeys({ kind: 'file', path })
  const verifierKeys = (origin: string): readonly string[] =>
    logKeyChain(keys).map((key) => noteVerifier(origin, key).text)
  return { ring: keys.ring, runKeys: createRunKeys(keys.ring), verifierKeys }
}

async function twoRuns(ledger: Ledger): Promise<void> {
  const ask = async (runId: string, command: Command, key?: string): Promise<void> => {
    const idempotency = key === undefined ? {} : { idempotency: { key, method: 'POST', path: '/v1/x' } }
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await ledger.execute({ ...CALLER, via: ['gateway'] }, runId, command, { traceparent, ...idempotency })
  }
  for (const runId of ['one', 'two']) await ask(runId, { kind: 'start', body: { id: runId, name: 'try' } }, 'start')
  for (const [at, runId] of ['one', 'two', 'one', 'two'].entries()) {
    const payload = {
      entities: ['Apple', 'Zürich \ud83d\ude80 \ufffd'],
      facts: { revenue: '2024' },
      note: `step ${at}`,
    }
    await ask(runId, { kind: 'envelope', body: { agent: 'researcher', payload } }, `envelope-${at}`)
  }
  await ask('one', { kind: 'envelope', body: { agent: 'writer', payload: { summary: 'growth' } } })
  await ask('two', { kind: 'claim', body: { tool: 'search', args: { q: 'x' }, key: 'c1' } })
  await ask('one', { kind: 'complete', body: { output: 'done' } })
}
