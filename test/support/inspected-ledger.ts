/** @module A small ledger for the commands that look at one: two runs, a refusal, an open call, and texts that a terminal would obey. */
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Command } from '../../src/ledger/ledger.ts'
import { readSettings } from '../../src/settings/config.ts'

export const HOSTILE = 'evil\u001b[2J\u202egnp.exe\u009b31m\nnext'

export async function inspectedLedger(data: string): Promise<void> {
  const settings = readSettings({ data }, {})
  await using opened = await openLedger(settings, silentLog)
  const does = async (runId: string, command: Command, actor = 'alice') => {
    await opened.ledger.execute({ tenant: 'default', actor }, runId, command, {})
  }
  await does('r', { kind: 'start', body: { id: 'r', name: 'first', budget: { tokens: 100 }, policy: { protect: [] } } })
  await does('r', { kind: 'envelope', body: { agent: 'researcher', payload: { entities: ['Apple'], n: 1 } } })
  await does('r', { kind: 'envelope', body: { agent: 'writer', payload: { summary: 'growth' } } }, 'mallory')
  await does('r', { kind: 'envelope', body: { agent: 'writer', payload: { entities: ['Apple', 'Pear'], n: 2 } } })
  await does('r', { kind: 'claim', body: { tool: 'charge', args: { note: HOSTILE } } })
  await does('r', { kind: 'usage', body: { agent: 'writer', usage: { tokens: 7, model: HOSTILE } } })
  await does('s', { kind: 'start', body: { id: 's', name: HOSTILE } })
}
