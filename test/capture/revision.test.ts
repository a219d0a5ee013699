import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { revisionOf } from '../../src/capture/http/revision.ts'

const revision = suite('capture: revisions')

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const call = (name: string, version: string | undefined = '2026-07-28'): JsonObject => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, ...(version !== undefined && { _meta: { [VERSION]: version } }) },
})
const headers = (name: string, more: Record<string, string> = {}): Headers =>
  new Headers({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name, ...more })

revision('headers that say something else than the body are refused with -32020, each of them (CAP-42)', () => {
  const encoded = `=?base64?${Buffer.from('zähle').toString('base64')}?=`
  assert.equal(revisionOf(headers('add'), call('add')), { ok: true, isStateless: true })
  assert.equal(revisionOf(headers(encoded), call('zähle')), { ok: true, isStateless: true })
  assert.equal(revisionOf(headers('add', { 'mcp-param-x': 'y' }), call('add')), { ok: true, isStateless: true })
  const without = (name: string): Headers => {
    const left = headers('add')
    left.delete(name)
    return left
  }
  const wrong: readonly (readonly [Headers, JsonObject])[] = [
    [headers('other'), call('add')],
    [headers('=?base64?!!?='), call('add')],
    [headers('=?base64?/w==?='), call('\ufffd')],
    [headers('add', { 'mcp-method': 'tools/list' }), call('add')],
    [headers('add', { 'mcp-protocol-version': '2025-11-25' }), call('add')],
    [headers('add'), call('add', '2027-01-01')],
    ...['mcp-name', 'mcp-method', 'mcp-protocol-version'].map((name) => [without(name), call('add')] as const),
    [
      headers('file:///b', { 'mcp-method': 'resources/read' }),
      { ...call('x'), method: 'resources/read', params: { uri: 'file:///a', _meta: { [VERSION]: '2026-07-28' } } },
    ],
  ]
  for (const [index, [given, body]] of wrong.entries()) {
    const found = revisionOf(given, body)
    assert.is(found.ok ? 'passed' : found.code, -32_020, `case ${index}`)
  }
  const unsaid = revisionOf(headers('add'), { ...call('add'), params: { name: 'add' } })
  assert.is(unsaid.ok ? 'passed' : unsaid.code, -32_602, 'a body that says nothing lacks what it must have')
})

revision(
  'revisions with sessions pass without these headers, and one that nobody knows is refused with those that are (CAP-42)',
  () => {
    for (const version of ['2025-03-26', '2025-06-18', '2025-11-25'])
      assert.equal(
        revisionOf(new Headers({ 'mcp-protocol-version': version }), { ...call('add'), params: { name: 'add' } }),
        { ok: true, isStateless: false },
      )
    assert.equal(revisionOf(new Headers(), undefined), { ok: true, isStateless: false })
    const later = revisionOf(headers('add', { 'mcp-protocol-version': '2027-01-01' }), call('add', '2027-01-01'))
    assert.equal(later.ok ? undefined : [later.code, later.data?.requested], [-32_022, '2027-01-01'])
    const asks = { 'mcp-protocol-version': '2027-01-01', 'mcp-method': 'server/discover' }
    const discover = { ...call('x', '2027-01-01'), method: 'server/discover' }
    assert.ok(revisionOf(headers('x', asks), discover).ok, 'the server itself says what it speaks')
  },
)

revision.run()
