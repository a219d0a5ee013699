import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { type CaptureRig, captureRig, textOf } from '../support/capture-rig.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'
import { eventually } from '../support/within.ts'

const urls = suite('capture: approvals by URL')

const OK = { content: [{ type: 'text', text: 'done' }] }
const OPENS = { elicitation: { url: {} } }
const CHARGE = { cents: 5 }

interface Gated extends AsyncDisposable {
  readonly edge: TestEdge
  readonly rig: CaptureRig
  /** Past the client of the proxy, which may be cut off. */
  readonly decide: (how: 'grant' | 'deny') => Promise<void>
  /** The proxy's request to the host. */
  readonly asked: () => Promise<JsonObject>
  readonly calls: () => Promise<readonly string[]>
}

async function gated(capabilities: JsonObject, { expiresMs = 60_000, waitMs = 20_000 } = {}): Promise<Gated> {
  const edge = await testEdge()
  await edge.started('gated', { policy: { approve: [{ tools: ['charge'], expiresMs }] } })
  const rig = await captureRig({ edge, named: 'gated', waitMs })
  await rig.host({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { capabilities } })
  const bob = { authorization: `Bearer ${await edge.token({ subject: 'bob' })}` }
  const decide = async (how: 'grant' | 'deny'): Promise<void> => {
    const { items } = (await (await edge.get('/v1/approvals')).json()) as { readonly items: readonly JsonObject[] }
    const [{ approvalId, argsDigest } = {} as JsonObject] = items
    const done = await edge.post(`/v1/runs/gated/approvals/${String(approvalId)}/${how}`, { argsDigest }, bob)
    assert.is(done.status, 200, await done.text())
  }
  return {
    ...{ edge, rig, decide },
    asked: () =>
      eventually(() => {
        const line = rig.toHost.find((each) => each.includes('"method":"elicitation/create"'))
        return line === undefined ? undefined : (JSON.parse(line) as JsonObject)
      }, 'the question'),
    calls: async () => (await rig.recorded()).map(({ tool, status }) => `${String(tool)} ${String(status)}`),
    [Symbol.asyncDispose]: async () => {
      await rig.relay.serverGone('the test is over')
      await edge[Symbol.asyncDispose]()
    },
  }
}

const sent = (id: number, tool = 'charge', more: object = {}) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call' },
  params: { name: tool, arguments: CHARGE, ...more },
})
const forwarded = ({ toServer }: CaptureRig) => toServer.filter((line) => line.includes('tools/call'))
const told = ({ toHost }: CaptureRig) => toHost.filter((line) => line.includes('notifications/elicitation/complete'))

urls(
  'a host that shows URLs is asked to open the page while the call waits; a grant there runs it once, and the host is told (A521, CAP-46)',
  async () => {
    await using at = await gated(OPENS)
    await at.rig.host(sent(1))
    const { id, params } = await at.asked()
    const { mode, url, elicitationId } = params as JsonObject
    assert.equal([mode, url], ['url', `http://ledger.test/ui/runs/gated/approvals/${String(elicitationId)}`])
    await at.rig.host({ jsonrpc: '2.0', id, result: { action: 'accept' } })
    assert.is(forwarded(at.rig).length, 0, 'that the page was opened is no approval')
    await at.rig.host(sent(2, 'other'))
    await eventually(() => (forwarded(at.rig).length === 1 ? true : undefined), 'others do not wait for a person')
    await at.decide('grant')
    await eventually(() => (forwarded(at.rig).length === 2 ? true : undefined), 'the call')
    await at.rig.server({ jsonrpc: '2.0', id: 1, result: OK })
    assert.equal((await at.rig.answered(1)).result, OK)
    assert.is(told(at.rig).length, 1)
    assert.match(told(at.rig)[0] ?? '', `"elicitationId":"${String(elicitationId)}"`)
    assert.ok(!at.rig.toServer.some((line) => line.includes('countersign-ask')), 'the server sees nothing of it')
    assert.ok((await at.calls()).includes('charge succeeded'))
  },
)

urls(
  'a denial, and an approval that nobody decided in time, are answered as what they are (A522, CAP-46)',
  async () => {
    await using denied = await gated(OPENS)
    await denied.rig.host(sent(1))
    await denied.asked()
    await denied.decide('deny')
    assert.match(textOf(await denied.rig.answered(1)), /was denied/)
    assert.is(told(denied.rig).length, 1)
    await using late = await gated(OPENS, { expiresMs: 1_000 })
    await late.rig.host(sent(1))
    assert.match(textOf(await late.rig.answered(1)), /no decision came in time/)
    await using slow = await gated(OPENS, { waitMs: 50 })
    await slow.rig.host(sent(1))
    assert.match(textOf(await slow.rig.answered(1)), /needs an approval of these arguments.*Ask again/)
    for (const { rig } of [denied, late, slow]) assert.is(forwarded(rig).length, 0)
  },
)

urls(
  'a person who declines decides nothing, and neither does a host that is gone meanwhile (A523, CAP-46)',
  async () => {
    await using declined = await gated(OPENS)
    await declined.rig.host(sent(1))
    const { id } = await declined.asked()
    await declined.rig.host({ jsonrpc: '2.0', id, result: { action: 'decline' } })
    assert.match(textOf(await declined.rig.answered(1)), /did not open its page.*still waits for a decision/)
    await using gone = await gated(OPENS)
    await gone.rig.host(sent(1))
    await gone.asked()
    // The grant is there, and the proxy has not seen it: it must not use it for a host that left.
    gone.rig.network.state = 'down'
    await gone.decide('grant')
    const left = gone.rig.host({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
    gone.rig.network.state = 'up'
    await left
    await gone.rig.relay.settled()
    assert.is(forwarded(gone.rig).length, 0)
    assert.equal(await gone.calls(), [], 'the grant is not used')
    await gone.rig.call(2, 'charge', CHARGE)
    assert.is(forwarded(gone.rig).length, 1, 'the next equal call uses it')
  },
)

urls('a host without URL mode, or of forms alone, reads the text as before (A524, CAP-46)', async () => {
  for (const capabilities of [{}, { elicitation: {} }, { elicitation: { form: {} } }]) {
    await using at = await gated(capabilities)
    await at.rig.host(sent(1))
    assert.match(textOf(await at.rig.answered(1)), /needs an approval/)
    assert.not.ok(at.rig.toHost.some((line) => line.includes('elicitation/create')))
  }
})

urls(
  'of 2026-07-28 the question is a result that requires input, and its answer sends the call again (A525, CAP-46)',
  async () => {
    await using at = await gated({})
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': OPENS }
    await at.rig.host(sent(1, 'charge', { _meta }))
    const { resultType, inputRequests } = (await at.rig.answered(1)).result as JsonObject
    assert.is(resultType, 'input_required')
    const [[key, asked] = []] = Object.entries(inputRequests as Record<string, JsonObject>)
    assert.match(JSON.stringify(asked), /"mode":"url".*"url":"http:\/\/ledger.test\/ui\/runs\/gated\/approvals\//)
    const said = (action: string) => ({ _meta, inputResponses: { [String(key)]: { action } } })
    await at.rig.host(sent(2, 'charge', said('decline')))
    assert.match(textOf(await at.rig.answered(2)), /did not open its page/)
    await at.rig.host(sent(3, 'charge', said('accept')))
    assert.is(forwarded(at.rig).length, 0, 'that the page was opened is no approval')
    await at.decide('grant')
    await eventually(() => (forwarded(at.rig).length === 1 ? true : undefined), 'the call')
  },
)

urls(
  'a result that requires input passes as it is, and the call with the answers is the next attempt of the same call (A526, CAP-47)',
  async () => {
    await using rig = await captureRig()
    await rig.call(1, 'deploy', { to: 'eu' })
    const round =
      '{"jsonrpc":"2.0", "id":1,"result":{"resultType":"input_required","requestState":"s1","inputRequests":{"a":{"method":"roots/list"}}}}\n'
    await rig.server(round)
    await rig.relay.settled()
    assert.equal(rig.toHost, [round])
    const again = `${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'deploy', arguments: { to: 'eu' }, requestState: 's1', inputResponses: { a: { roots: [] } } } })}\n`
    await rig.host(again)
    await rig.relay.forwarded()
    assert.is(rig.toServer.at(-1), again)
    await rig.server({ jsonrpc: '2.0', id: 2, result: { resultType: 'complete', ...OK } })
    await rig.relay.settled()
    const calls = await rig.recorded()
    assert.equal(
      calls.map(({ tool, status, attempt }) => [tool, status, attempt]),
      [['deploy', 'succeeded', 2]],
      'executed once, in two attempts',
    )
  },
)

urls.run()
