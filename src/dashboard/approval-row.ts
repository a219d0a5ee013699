/** @module An approval, parsed from the ledger's answers into the types that pages need. */
import { z } from 'zod'
import { ApprovalNeed } from '../../schemas/approval.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { JsonValue } from '../../schemas/values.ts'

const Text = z.string()
const Person = { actor: Text, principal: Text.optional() }

const ApprovalSchema = z.object({
  approvalId: Text,
  runId: Text,
  runName: Text,
  tool: Text,
  agent: Text.optional(),
  args: JsonValue.optional(),
  argsDigest: Text,
  argsRef: z.object({ digest: Text, bytes: z.number() }).optional(),
  argsPreview: Text.optional(),
  status: Text,
  needs: z.array(ApprovalNeed),
  requestedAt: Text,
  requestedBy: z.object(Person),
  expiresAt: Text,
  selfApproval: z.boolean(),
  onDenied: Text,
  grants: z.array(z.object({ ...Person, roles: z.array(Text) })),
  denial: z.object({ ...Person, comment: Text.optional() }).optional(),
  callId: Text.optional(),
})

export type Approval = z.output<typeof ApprovalSchema>

export function approvalOf(item: JsonObject): Approval {
  return ApprovalSchema.parse(item)
}
