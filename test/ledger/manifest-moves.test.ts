import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import type { Finding } from '../../schemas/finding.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { PolicyObject } from '../../schemas/policy.ts'
import { type TestLedger, testLedger } from '../support/test-ledger.ts'

const test = suite('places that move by the manifest of an agent')

const REASON = 'where the van is'
const STOP = { path: '/tour/at_stop', as: 'cursor', reason: REASON }
const DELIVERED = { path: '/tour/delivered', as: 'counter', reason: REASON }

async function started(policy: PolicyObject = { suspect: 'refuse' }): Promise<TestLedger> {
  const ledger = await testLedger()
  await ledger.run('r', { kind: 'start', body: { id: 'r', name: 'r', policy } })
  return ledger
}

async function registered(ledger: TestLedger, moves: readonly object[], agent = 'driver'): Promise<string> {
  const outcome = await ledger.run('r', { kind: 'manifest', body: { agent, moves } as never })
  if (outcome.ok) return 'registered'
  const { code, pointer, detail } = outcome.refusal
  return `${code} ${pointer} ${detail}`
}

async function schemaOf(ledger: TestLedger, schema: object): Promise<string> {
  const outcome = await ledger.run('r', { kind: 'manifest', body: { agent: 'driver', schema } as never })
  return outcome.ok ? 'registered' : `${outcome.refusal.code} ${outcome.refusal.pointer} ${outcome.refusal.detail}`
}

async function handOver(ledger: TestLedger, payload: JsonObject, agent = 'driver'): Promise<string> {
  const outcome = await ledger.run('r', { kind: 'envelope', body: { agent, payload } })
  const findings = (
    outcome.ok ? (outcome.body as unknown as { findings?: Finding[] }).findings : outcome.refusal.evidence?.findings
  ) as readonly Finding[] | undefined
  return [outcome.ok ? 'accepted' : 'refused', ...(findings ?? []).map(({ rule, path }) => `${rule} ${path}`)].join(' ')
}

const at = (stop: string, delivered: number, gate = 'C'): JsonObject => {
  return { tour: { at_stop: stop, delivered }, depot: { gate, code: 'ZRH2' } }
}

test("what an agent's manifest declares moves in its own handoffs, and in those of no other agent; what is beside it stays (JUD-71)", async () => {
  await using ledger = await started()
  assert.is(await registered(ledger, [STOP, DELIVERED]), 'registered')
  assert.is(await handOver(ledger, at('S1', 1)), 'accepted')
  assert.is(await handOver(ledger, at('S2', 2)), 'accepted')
  assert.is(await handOver(ledger, at('S3', 1)), 'refused contradicted /tour/delivered')
  assert.is(await handOver(ledger, at('S3', 3, 'G')), 'refused contradicted /depot/gate')
  assert.is(await handOver(ledger, at('S3', 2), 'clerk'), 'refused contradicted /tour/at_stop')
  assert.is(await handOver(ledger, at('S3', 3)), 'accepted')
  assert.is(await registered(ledger, []), 'registered')
  assert.is(await handOver(ledger, at('S4', 3)), 'refused contradicted /tour/at_stop')
})

test('a manifest declares no more than its agent may beside a handoff: what another agent established is warned of, and stays (JUD-71)', async () => {
  await using ledger = await started()
  await handOver(ledger, at('S1', 1), 'clerk')
  assert.is(await registered(ledger, [STOP]), 'registered')
  assert.is(await handOver(ledger, at('S2', 1)), 'refused declaration-refused /tour/at_stop contradicted /tour/at_stop')
  assert.is(await handOver(ledger, { ...at('S1', 1), seal: 7 }), 'accepted declaration-refused /tour/at_stop')
})

const REFUSED: readonly (readonly [move: object, why: RegExp])[] = [
  [{ path: '/facts/qty', as: 'counter', reason: REASON }, /critical key/],
  [{ path: '/tour', as: 'free', reason: REASON }, /only a policy declares a place as free/],
  [{ path: '/tour/phase', as: 'state', reason: REASON }, /only a policy/],
  [{ path: 'tour', as: 'cursor', reason: REASON }, /no JSON Pointer/],
  [{ path: '/tour/at', as: 'anything', reason: REASON }, /moves as counter/],
  [{ path: '/tour/at', as: 'cursor', reason: ' ' }, /blank/],
  [{ path: '/mrn', as: 'cursor', reason: REASON }, /does not change/],
  [{ path: '/tour/total', as: 'derived', by: 'sum', reason: REASON }, /no invariant called sum/],
]

test('a manifest that declares what no agent may is refused with the place and the reason, and registers nothing (JUD-71)', async () => {
  await using ledger = await started({ suspect: 'refuse', immutable: ['/mrn'] })
  for (const [move, why] of REFUSED) {
    const answer = await registered(ledger, [STOP, move])
    assert.match(answer, /^manifest-invalid \/moves\/1 /)
    assert.match(answer, why)
  }
  await handOver(ledger, at('S1', 1))
  assert.is(await handOver(ledger, at('S2', 1)), 'refused contradicted /tour/at_stop')
})

test('where the policy lets no agent declare, a manifest moves nothing, and each handoff that changes something says so (JUD-71)', async () => {
  await using ledger = await started({ suspect: 'refuse', declare: 'none' })
  assert.is(await registered(ledger, [STOP]), 'registered')
  await handOver(ledger, at('S1', 1))
  assert.match(await handOver(ledger, at('S2', 1)), /^refused declaration-refused .* contradicted \/tour\/at_stop$/)
})

test("what a branch's agent moved by its manifest is joined as it was offered (JUD-71)", async () => {
  await using ledger = await started()
  await registered(ledger, [STOP, DELIVERED])
  await handOver(ledger, at('S1', 1))
  const branches = [
    { name: 'drive', agent: 'driver' },
    { name: 'count', agent: 'clerk' },
  ]
  const fork = await ledger.run('r', { kind: 'fork', body: { join: 'union', branches } })
  assert.ok(fork.ok, JSON.stringify(fork))
  const { forkId } = fork.body as { forkId: string }
  const report = (branch: string, output: JsonObject) =>
    ledger.run('r', { kind: 'branch', forkId, body: { branch, output } })
  assert.ok((await report('drive', { tour: { at_stop: 'S2', delivered: 2 } })).ok)
  assert.ok((await report('count', { counted: 12 })).ok)
  const joined = await ledger.run('r', { kind: 'join', forkId, body: {} })
  assert.ok(joined.ok, JSON.stringify(joined))
  assert.is((joined.body as { outcome?: string }).outcome, 'joined')
  // The agent of the fork established it since: a counter is its agent's all the same, a cursor is not.
  const next = await handOver(ledger, { ...at('S2', 3), counted: 12 })
  assert.is(next, 'accepted declaration-refused /tour/at_stop')
})

const said = (word: object, schema: object): object => ({ ...schema, 'x-countersign': word })

test('x-countersign beside a property of JSON Schema, or of zod by meta, declares its place: what is declared moves or stays, what is not stays as it was (JUD-74)', async () => {
  const zod = z.object({
    tour: z.object({
      at_stop: z.string().meta({ 'x-countersign': { moves: 'cursor' } }),
      delivered: z.number().meta({ 'x-countersign': { moves: { as: 'counter', reason: REASON } } }),
      left: z.number().meta({ 'x-countersign': { monotonic: 'down' } }),
    }),
    parcels: z.array(z.object({ no: z.string(), kg: z.number().meta({ 'x-countersign': { moves: 'gauge' } }) })),
    depot: z.object({ status: z.string().meta({ 'x-countersign': { immutable: true } }), gate: z.string() }),
  })
  const number = { type: 'number' }
  const written = {
    $defs: { kg: said({ moves: 'gauge' }, number) },
    properties: {
      tour: {
        properties: {
          at_stop: said({ moves: 'cursor' }, { type: 'string' }),
          delivered: said({ moves: { as: 'counter' } }, number),
          left: { allOf: [said({ monotonic: 'down' }, number)] },
        },
      },
      parcels: { items: { properties: { kg: { $ref: '#/$defs/kg' } } } },
      depot: { properties: { status: said({ immutable: true }, { type: 'string' }) } },
    },
  }
  const context = (
    at_stop: string,
    delivered: number,
    more: { left?: number; kg?: number; status?: string; gate?: string } = {},
  ) => {
    const { left = 9 - delivered, kg = delivered, status = 'open', gate = 'C' } = more
    return { tour: { at_stop, delivered, left }, parcels: [{ no: 'P1', kg }], depot: { status, gate } }
  }
  for (const schema of [z.toJSONSchema(zod), written]) {
    await using ledger = await started()
    assert.is(await schemaOf(ledger, schema), 'registered')
    assert.is(await handOver(ledger, context('S1', 1)), 'accepted')
    assert.is(await handOver(ledger, context('S2', 2, { kg: 1 })), 'accepted')
    assert.is(await handOver(ledger, context('S3', 1, { left: 7 })), 'refused contradicted /tour/delivered')
    assert.is(await handOver(ledger, context('S3', 3, { left: 8 })), 'refused contradicted /tour/left')
    assert.is(await handOver(ledger, context('S3', 3, { status: 'closed' })), 'refused immutable /depot/status')
    assert.is(await handOver(ledger, context('S3', 3, { gate: 'G' })), 'refused contradicted /depot/gate')
  }
})

test('what x-countersign cannot say, or no agent may, is refused with its place in the schema (JUD-74)', async () => {
  await using ledger = await started()
  const at = (word: unknown, key = 'n') => schemaOf(ledger, { properties: { [key]: { 'x-countersign': word } } })
  const place = '/schema/properties/n/x-countersign'
  assert.match(await at('counter'), `manifest-invalid ${place} is an object`)
  assert.match(await at({ imutable: true }), `${place} knows no imutable; it has immutable, monotonic`)
  assert.match(await at({ immutable: 'yes' }), `${place} immutable is true`)
  assert.match(await at({ monotonic: 'sideways' }), /manifest-invalid \/schema .*monotonic \/n/)
  assert.match(await at({ free: true }), /\/n as free: only a policy declares/)
  assert.match(await at({ moves: 'counter' }, 'facts'), /critical key/)
  assert.match(await schemaOf(ledger, { 'x-countersign': { immutable: true } }), /whole payload is none/)
  const list = {
    $defs: { node: { properties: { next: { $ref: '#/$defs/node' }, n: said({ moves: 'counter' }, {}) } } },
    $ref: '#/$defs/node',
  }
  assert.is(await schemaOf(ledger, list), 'registered')
})

test.run()
