/** @module The request that registers an agent's manifest with the ledger, which checks the agent's handoffs against it. */
import type { JsonObject } from '../../../schemas/json.ts'
import type { RegisterManifest } from '../../../schemas/requests.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { AgentError } from '../errors.ts'
import type { Manifest } from './handoff-types.ts'

/** Returns the request and the hash of the manifest. Throws `invalid-manifest`. */
export function manifestRequest(agent: string, manifest: Manifest): { body: RegisterManifest; hash: string } {
  const { agent: owner = agent, reads, writes, maxTokens, task, schema, policy, moves } = manifest
  if (owner !== agent) {
    throw new AgentError('invalid-manifest', `the manifest is of ${owner}, not of ${agent}`, { agent, manifest: owner })
  }
  const bounds = {
    ...(reads !== undefined && { reads: [...reads] }),
    ...(writes !== undefined && { writes: [...writes] }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(task !== undefined && { task }),
    ...(schema !== undefined && { schema: schema as JsonObject }),
    ...(policy !== undefined && { policy }),
    ...(moves !== undefined && { moves: [...moves] }),
  }
  return { body: { agent, ...bounds }, hash: jsonDigest(bounds as JsonObject) }
}
