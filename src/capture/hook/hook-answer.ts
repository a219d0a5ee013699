/** @module What a hook answers its host: one JSON text or nothing, in the words of that host. Pure. */
import type { HookHost } from './hook-input.ts'

/** `reason`: what the model and the person read. */
export type HookDecision = { readonly allow: true } | { readonly allow: false; readonly reason: string }

/**
 * Claude Code is told nothing where a call may run: its "allow" would skip the question that it asks the person. Cursor is told in either case; the names of
 * its members were `userMessage` and `agentMessage` in its first releases with hooks.
 */
export function hookAnswer(
  { host, event }: { readonly host: HookHost; readonly event: string },
  decision: HookDecision,
): string {
  if (host === 'cursor') return JSON.stringify(decision.allow ? { permission: 'allow' } : cursorDenial(decision.reason))
  if (decision.allow) return ''
  return JSON.stringify({
    hookSpecificOutput: { hookEventName: event, permissionDecision: 'deny', permissionDecisionReason: decision.reason },
  })
}

function cursorDenial(reason: string): object {
  return { permission: 'deny', user_message: reason, agent_message: reason, userMessage: reason, agentMessage: reason }
}
