/** @module The record of a tenant that has one of everything, and what a route answers, whatever its form. */
import type { JsonObject } from '../../schemas/json.ts'
import type { Caller, Command } from '../../src/ledger/ledger.ts'
import type { Ids } from './route-examples.ts'
import type { TestEdge } from './test-edge.ts'

/** A run that has one of everything; the names say whose it is. */
export async function record(edge: TestEdge, tenant: string, who: string): Promise<Ids> {
  const { ledger } = edge.inner
  const run = `${who}-run`
  const caller: Caller = { tenant, actor: `${who}-actor` }
  const does = async (command: Command): Promise<JsonObject> => {
    const outcome = await ledger.execute(caller, run, command, {})
    return outcome.ok ? outcome.body : {}
  }
  const agent = `${who}-agent`
  await does({ kind: 'start', body: { id: run, name: `${who}-name`, tags: [`${who}-tag`], budget: { tokens: 1_000 } } })
  await does({ kind: 'manifest', body: { agent, writes: ['entities', 'note', 'plan'] } })
  const note = `the shared word, and ${who}-secret`
  await does({ kind: 'envelope', body: { agent, payload: { entities: [`${who}-entity`], note } } })
  await does({ kind: 'envelope', body: { agent, payload: { note: `${who}-lost` } } })
  const { callId } = await does({ kind: 'claim', body: { tool: `${who}-tool`, args: { note }, agent } })
  const large = await does({
    kind: 'claim',
    body: { tool: `${who}-tool`, args: `${who}-secret `.repeat(8_000), agent },
  })
  const { argsRef } = (await ledger
    .call(caller, run, String(large.callId))
    .then((found) => (found.ok ? found.value : {}))) as JsonObject
  const digest = String((argsRef as JsonObject | undefined)?.digest)
  const { reservationId } = await does({ kind: 'reserve', body: { agent, tokens: 5 } })
  await does({ kind: 'usage', body: { agent, usage: { tokens: 3, model: `${who}-model` } } })
  const branches = [{ name: `${who}-branch`, agent }]
  const { forkId } = await does({ kind: 'fork', body: { branches, join: 'vote', agent } })
  const sought = { tool: `${who}-pay`, args: { note }, agent, approve: {} }
  const reply = await ledger.execute(caller, run, { kind: 'claim', body: sought }, {})
  const approval = String(reply.ok ? '' : reply.refusal.evidence?.approvalId)
  const signal = `${who}-signal`
  const { waitId } = await does({ kind: 'wait', body: { name: signal } })
  await does({ kind: 'signal', name: signal, body: { payload: { note } } })
  let event = ''
  for await (const page of ledger.tenantEvents(caller, {})) event ||= page[0]?.header.id ?? ''
  return {
    run,
    call: String(callId),
    reservation: String(reservationId),
    fork: String(forkId),
    approval,
    wait: String(waitId),
    signal,
    digest,
    event,
  }
}

/** Bytes as latin1: tiles and archives are looked through like texts. A tail is read until it has caught up. */
export async function readAnswer(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  const reader = response.body?.getReader()
  for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
    chunks.push(next.value)
    if (Buffer.from(next.value).includes('event: caught-up')) break
  }
  await reader?.cancel()
  return Buffer.concat(chunks).toString('latin1')
}
