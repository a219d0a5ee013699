/** @module The answer of a hook to its host: one JSON text in that host's format, or nothing. Pure. */
import type { HookHost } from './hook-input.ts'

/** `reason`: text for the model and the person. */
export type HookDecision = { readonly allow: true } | { readonly allow: false; readonly reason: string }

/**
 * Claude Code gets no output for an allowed call, because its "allow" would skip its own permission prompt. Cursor gets an answer in both cases; its first
 * releases with hooks used the member names `userMessage` and `agentMessage`.
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
