import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { McpEntrance } from '../../src/capture/http/entrance.ts'
import { parseUpstreams } from '../../src/capture/http/upstreams.ts'
import { startServer } from '../../src/http/server.ts'
import { startReferenceServer } from '../support/reference-mcp-server.ts'
import { testEdge } from '../support/test-edge.ts'
import { within } from '../support/within.ts'

const sessions = suite('capture: sessions of streamable HTTP')

const BOTH = 'application/json, text/event-stream'
const URL_MODE = { elicitation: { url: {} } }
const GATED = 'test_simple_text'

interface Sent {
  readonly session?: string
  readonly accept?: string
  readonly as?: string
}

async function rig() {
  const reference = await startReferenceServer()
  const read = parseUpstreams(JSON.stringify({ servers: { peer: { url: reference.url } } }), {})
  if (!read.ok) throw new Error(read.message)
  const said: string[] = []
  const desk: { url: string | undefined } = { url: undefined }
  const say = (text: string): void => void said.push(text)
  const options = { secrets: [], owner: undefined, origins: [], idleMs: 60_000 }
  const entrance = new McpEntrance({ upstreams: read.value, desk, say, ...options })
  const edge = await testEdge({ mcp: entrance })
  const server = await startServer({ app: edge.app, host: '127.0.0.1', port: 0, draining: edge.draining })
  desk.url = server.url
  await edge.started('gated', { policy: { approve: [{ tools: [GATED] }] } })
  const own = await edge.token()
  const post = (message: JsonObject, { session, accept = BOTH, as = own }: Sent = {}): Promise<Response> =>
    fetch(`${server.url}/mcp/peer`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${as}`, 'content-type': 'application/json', accept, 'x-countersign-run': 'gated' },
        ...(session !== undefined && { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const begun = async (capabilities: JsonObject): Promise<Response> =>
    post({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities } })
  const decided = async (how: 'grant' | 'deny', approvalId: string): Promise<void> => {
    const path = `/v1/runs/gated/approvals/${approvalId}`
    const { argsDigest } = (await (await edge.get(path)).json()) as JsonObject
    const bob = { authorization: `Bearer ${await edge.token({ subject: 'bob' })}` }
    assert.is((await edge.post(`${path}/${how}`, { argsDigest }, bob)).status, 200)
  }
  return {
    ...{ reference, edge, said, post, begun, decided, url: server.url },
    [Symbol.asyncDispose]: async () => {
      await entrance.close()
      await server.close(100)
      await edge[Symbol.asyncDispose]()
      await reference[Symbol.asyncDispose]()
    },
  }
}

const call = (id: number): JsonObject => ({ id, method: 'tools/call', params: { name: GATED, arguments: {} } })

/** Messages of an event stream, as they come. */
async function* messagesOf(answer: Response): AsyncGenerator<JsonObject, void> {
  let text = ''
  for await (const part of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(part).toString('utf8')
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) yield JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '') as JsonObject
  }
}

async function next(messages: AsyncGenerator<JsonObject, void>): Promise<JsonObject> {
  const { value } = await within(messages.next(), 'the next message', 20_000)
  return value ?? {}
}

sessions(
  'a session is asked to open the page on the stream of its call, which carries the decision and then the answer (A527, CAP-46)',
  async () => {
    await using at = await rig()
    const session = (await at.begun(URL_MODE)).headers.get('mcp-session-id') ?? ''
    const answer = await at.post(call(1), { session })
    assert.is(answer.headers.get('content-type'), 'text/event-stream')
    const messages = messagesOf(answer)
    const asked = await next(messages)
    const { url, elicitationId } = asked.params as JsonObject
    assert.is(url, `${at.url}/ui/runs/gated/approvals/${String(elicitationId)}`)
    const replied = await at.post({ id: asked.id ?? '', result: { action: 'accept' } }, { session })
    assert.is(replied.status, 202)
    assert.is(at.reference.executed.size, 0)
    await at.decided('grant', String(elicitationId))
    assert.is((await next(messages)).method, 'notifications/elicitation/complete')
    assert.equal([(await next(messages)).id, (await messages.next()).done], [1, true])
    assert.is(at.reference.executed.get(GATED), 1)
    const again = messagesOf(await at.post(call(2), { session }))
    const { params } = await next(again)
    await at.decided('deny', String((params as JsonObject).elicitationId))
    await next(again)
    assert.match(JSON.stringify(await next(again)), /was denied/)
    assert.ok((await again.next()).done, 'a stream without a call behind it ends')
    assert.is(at.reference.executed.get(GATED), 1)
  },
)

sessions(
  'a host that shows URLs and takes no stream is told by -32042 which page to open, and asks again (A528, CAP-46)',
  async () => {
    await using at = await rig()
    const session = (await at.begun(URL_MODE)).headers.get('mcp-session-id') ?? ''
    const once = { session, accept: 'application/json' }
    const { error } = (await (await at.post(call(1), once)).json()) as { readonly error: JsonObject }
    assert.is(error.code, -32_042)
    const [elicitation = {}] = (error.data as JsonObject).elicitations as JsonObject[]
    assert.equal(
      [elicitation.mode, elicitation.url],
      ['url', `${at.url}/ui/runs/gated/approvals/${String(elicitation.elicitationId)}`],
    )
    await at.decided('grant', String(elicitation.elicitationId))
    assert.match(await (await at.post(call(2), once)).text(), /This is a simple text response/)
  },
)

sessions(
  'a session of one subject is nobody else’s, and an id that is not visible ASCII, or too long, begins none (A529, CAP-45)',
  async () => {
    await using at = await rig()
    at.reference.nextSession = () => '1'
    const session = (await at.begun({})).headers.get('mcp-session-id') ?? ''
    assert.is(session, '1')
    const list = { id: 1, method: 'tools/list' }
    assert.is((await at.post(list, { session })).status, 200)
    const mallory = await at.edge.token({ subject: 'mallory' })
    const foreign = await at.edge.token({ tenant: at.edge.foreign })
    for (const as of [mallory, foreign]) assert.is((await at.post(list, { session, as })).status, 404, 'a guess')
    for (const id of ['a b', 'é', '../x y', 'x'.repeat(257)]) {
      at.reference.nextSession = () => id
      const refused = await at.begun({})
      assert.equal([refused.status, refused.headers.get('mcp-session-id')], [502, null], id)
      assert.match(await refused.text(), /its session id is not/)
      assert.not.ok(
        at.said.some((line) => line.includes(id)),
        'it is in no line of the log',
      )
    }
  },
)

sessions.run()
