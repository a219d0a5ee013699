/** @module The steps of the tour: each sends one request to the ledger and prints the answer. */

import type { Json, JsonObject } from '../../schemas/json.ts'
import type { Caller, Command, Ledger, Outcome } from '../ledger/ledger.ts'
import type { Paint } from './terminal.ts'

const CALLER: Caller = { tenant: 'default', actor: 'tour' }
const RUN = 'tour'

export class Tour {
  readonly #ledger: Ledger
  readonly #say: (line: string) => void
  readonly #paint: Paint
  /** Steps whose result differed from the announcement. */
  readonly failures: string[] = []

  constructor(ledger: Ledger, say: (line: string) => void, paint: Paint) {
    this.#ledger = ledger
    this.#say = say
    this.#paint = paint
  }

  async handoffs(): Promise<void> {
    this.#title('1. Handoffs: what was established stays established')
    const budget = { cost: { limit: '1.00', currency: 'USD' } }
    await this.#accepted('a run with a budget of 1.00 USD', { kind: 'start', body: { id: RUN, name: 'tour', budget } })
    const research = { entities: ['Apple'], facts: [{ id: 'revenue', value: '391 bn' }] }
    await this.#accepted('researcher hands over its entities and facts', envelope('researcher', research))
    const analysis = { analysis: 'services grow, hardware is flat' }
    await this.#accepted('analyst adds an analysis', envelope('analyst', analysis, 'extend'))
    const refused = await this.#refused(
      'writer hands over a text without them',
      envelope('writer', { summary: 'growth' }),
    )
    for (const finding of (refused.findings ?? []) as JsonObject[]) {
      this.#say(`     ${finding.rule} at ${finding.path}: ${finding.message}`)
    }
    const restored = refused.restored as JsonObject | undefined
    this.#say(
      `     the run is at step ${restored?.step} again, with ${Object.keys((restored?.context ?? {}) as object).join(', ')}`,
    )
  }

  async idempotentCall(): Promise<void> {
    this.#title('2. A tool call happens once, however often it is requested')
    let charges = 0
    for (const request of ['first', 'second']) {
      const claim = await this.#send(call('charge', { cents: 2500 }))
      if (!claim.ok) return this.#fail(`the claim was refused: ${claim.refusal.code}`)
      if (claim.body.status !== 'claimed') {
        this.#say(`   ${request} ask: already recorded, result ${JSON.stringify(claim.body.result)}`)
        continue
      }
      charges += 1
      await this.#send(settle(claim.body, { payment: 'p-1' }))
      this.#say(`   ${request} ask: claimed, run, settled`)
    }
    this.#say(`   the card was charged ${charges === 1 ? 'once' : `${charges} times`}`)
    if (charges !== 1) this.#fail('the side effect ran twice')
  }

  async budget(): Promise<void> {
    this.#title('3. A budget is enforced before the money is spent')
    const reserve = (cost: string): Command => ({ kind: 'reserve', body: { agent: 'writer', cost } })
    const reservation = await this.#accepted('writer reserves 0.80 USD', reserve('0.80'))
    const refused = await this.#refused('analyst wants 0.50 USD more', {
      kind: 'reserve',
      body: { agent: 'analyst', cost: '0.50' },
    })
    this.#say(
      `     limit ${refused.limit}, spent ${refused.spent}, reserved ${refused.reserved}, requested ${refused.requested}`,
    )
    const usage = { tokens: 1200, cost: '0.64', currency: 'USD' }
    await this.#accepted('writer used 0.64 USD of it', {
      kind: 'settle-reservation',
      reservationId: String(reservation?.reservationId),
      body: { usage },
    })
  }

  async rollback(): Promise<void> {
    this.#title('4. A step fails: what was done is undone, in reverse')
    const reserved = await this.#send(call('reserve-stock', { item: 'phone' }))
    if (reserved.ok) await this.#send(settle(reserved.body, { stock: 's-1' }))
    const ship = await this.#send(call('ship', { order: 7 }))
    if (ship.ok) {
      const { callId, fence } = ship.body
      await this.#send({
        kind: 'settle',
        callId: String(callId),
        body: { fence: Number(fence), error: { message: 'no carrier' } },
      })
      this.#say('   ship failed: no carrier')
    }
    const plan = await this.#send({ kind: 'compensate', body: { reason: 'ship failed' } })
    if (!plan.ok) return this.#fail(plan.refusal.code)
    let status: Json | undefined
    for (const action of ((plan.body.plan ?? []) as JsonObject[][]).flat()) status = await this.#undo(action)
    this.#say(`   the run is ${status}`)
    if (status !== 'COMPENSATED') this.#fail('the rollback did not end')
  }

  async #undo(action: JsonObject): Promise<Json | undefined> {
    const claim = await this.#send({
      kind: 'claim',
      body: {
        tool: String(action.tool),
        args: { undo: action.result ?? null },
        phase: 'compensation',
        key: String(action.key),
      },
    })
    if (!claim.ok) return claim.refusal.code
    this.#say(`   undo ${action.forwardTool} (result was ${JSON.stringify(action.result)})`)
    const settled = await this.#send(settle(claim.body, { undone: true }))
    return settled.ok ? settled.body.runStatus : settled.refusal.code
  }

  async replay(): Promise<void> {
    this.#title('5. Replay rereads the run and compares every snapshot with the state folded from its events')
    const found = await this.#ledger.replay(CALLER, RUN)
    if (!found.ok) return this.#fail(found.refusal.code)
    let last: JsonObject = {}
    for await (const line of found.value.lines) last = line
    const snapshots = last.snapshots as JsonObject | undefined
    this.#say(
      `   ${last.verdict}: ${last.events} events, ${snapshots?.matched} snapshots matched, ${snapshots?.mismatched} did not`,
    )
    if (last.verdict !== 'VERIFIED') this.#fail('replay met a fault')
  }

  #title(text: string): void {
    this.#say(this.#paint(`\n${text}`, 'bold'))
  }

  #fail(what: string): void {
    this.failures.push(what)
  }

  #send(command: Command): Promise<Outcome> {
    return this.#ledger.execute(CALLER, RUN, command, {})
  }

  async #accepted(what: string, command: Command): Promise<JsonObject | undefined> {
    const outcome = await this.#send(command)
    if (outcome.ok) {
      this.#say(`   ${this.#paint('accepted', 'green')}  ${what} (revision ${outcome.revision})`)
      return outcome.body
    }
    this.#fail(`${what}: ${outcome.refusal.detail}`)
    return undefined
  }

  async #refused(what: string, command: Command): Promise<JsonObject> {
    const outcome = await this.#send(command)
    if (outcome.ok) {
      this.#fail(`${what}: accepted`)
      return {}
    }
    this.#say(`   ${this.#paint('refused', 'red')}   ${what}: ${outcome.refusal.code}`)
    return outcome.refusal.evidence ?? {}
  }
}

function envelope(agent: string, payload: JsonObject, mode: 'replace' | 'extend' = 'replace'): Command {
  return { kind: 'envelope', body: { agent, payload, mode } }
}

function call(tool: string, args: Json): Command {
  return { kind: 'claim', body: { tool, args, agent: 'writer', compensate: { tool: `undo-${tool}` } } }
}

function settle(claim: JsonObject, result: Json): Command {
  return { kind: 'settle', callId: String(claim.callId), body: { fence: Number(claim.fence), result } }
}
