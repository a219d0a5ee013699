/** @module A handoff over the API that nothing is wrong with. */
import * as assert from 'uvu/assert'
import type { TestEdge } from './test-edge.ts'

export async function handOver(edge: TestEdge, note: string): Promise<void> {
  const response = await edge.post('/v1/runs/r/envelopes', { agent: 'a', payload: { note } })
  assert.is(response.status, 201, await response.text())
}
