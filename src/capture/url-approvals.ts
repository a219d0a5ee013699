/**
 * @module Asks a host that shows URLs to a person (URL mode elicitation) to open the page of an approval, and waits for the decision there. That the page was
 * opened is never the approval.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../client/client.ts'
import {
  APPROVAL_INPUT,
  errorLine,
  messageLine,
  OWN_ID,
  type RequestId,
  resultLine,
  type ToolCall,
  type UrlAction,
} from './json-rpc.ts'
import type { RecordedRun } from './session-run.ts'
import { approvalPage, type Desk, notOpened } from './texts.ts'

export interface UrlApprovalsOptions {
  readonly client: Client
  readonly run: RecordedRun
  readonly desk: Desk
  /** How long a call waits for its decision; default 50,000, because hosts usually wait for 60 seconds. */
  readonly waitMs?: number
}

/** A call whose claim was refused until this approval is decided. */
export interface WaitingCall {
  readonly call: ToolCall
  readonly approval: string
  /** Sends a message to the host while the call is open; undefined if the host cannot be asked inside a request. */
  readonly tellHost: ((line: string) => Promise<void>) | undefined
  /** Aborted when the host has cancelled the call, or the session is over. */
  readonly over: AbortSignal
}

/** `decided`: the claim may be made again. `waits`: no decision came in time. */
export type Asked = { readonly kind: 'decided' | 'waits' } | { readonly kind: 'answer'; readonly line: string }

const WAIT_MS = 50_000
const LOOK_AGAIN_MS = 500
const URL_ELICITATION_REQUIRED = -32_042

export class UrlApprovals {
  readonly #options: UrlApprovalsOptions
  readonly #asked = new Map<string, (said: UrlAction) => void>()
  /** Whether the host of this session has declared that it shows URLs. */
  opensUrls = false

  constructor(options: UrlApprovalsOptions) {
    this.#options = options
  }

  /** Whether the person is to be asked by URL; a ledger without pages has none to open. */
  canAsk({ urlRound }: ToolCall): boolean {
    return this.#options.desk.url !== undefined && (this.opensUrls || urlRound !== undefined)
  }

  /** The host's answer to a request of `ask`; others are ignored. */
  replied(id: RequestId, said: UrlAction): void {
    this.#asked.get(String(id))?.(said)
  }

  async ask(waiting: WaitingCall): Promise<Asked> {
    const { call, tellHost } = waiting
    if (call.urlRound !== undefined) return this.#round(waiting)
    const elicitation = { ...this.#question(waiting), elicitationId: waiting.approval }
    if (tellHost !== undefined) return this.#inside({ ...waiting, tellHost }, elicitation)
    const text = `${call.tool} needs an approval: open its page, and ask again with the same arguments once it is granted`
    return {
      kind: 'answer',
      line: errorLine(call.id, URL_ELICITATION_REQUIRED, text, { elicitations: [elicitation] }),
    }
  }

  /** Revision 2026-07-28: the question is the result of this request, and the host sends the call again. */
  async #round(waiting: WaitingCall): Promise<Asked> {
    const { id, urlRound } = waiting.call
    if (urlRound?.said === 'accept') return this.#decision(waiting, this.#end())
    if (urlRound?.said !== undefined) return this.#declined(waiting)
    const inputRequests = { [APPROVAL_INPUT]: { method: 'elicitation/create', params: this.#question(waiting) } }
    return { kind: 'answer', line: resultLine(id, { resultType: 'input_required', inputRequests }) }
  }

  /** Revisions up to 2025-11-25: the host is asked while the call is open, and told when the page is decided. */
  async #inside(
    waiting: WaitingCall & { readonly tellHost: (line: string) => Promise<void> },
    elicitation: { readonly elicitationId: string },
  ): Promise<Asked> {
    const { tellHost } = waiting
    const id = `${OWN_ID}${randomUUID()}`
    const until = this.#end()
    const replied = new Promise<UrlAction>((resolve) => this.#asked.set(id, resolve))
    try {
      await tellHost(messageLine({ id, method: 'elicitation/create', params: elicitation }))
      // A person may also decide without the host, on a page that is open already.
      const decision = this.#decision(waiting, until)
      const first = await Promise.race([replied, decision])
      if (first === 'decline' || first === 'cancel') return this.#declined(waiting)
      const decided = await decision
      if (decided.kind === 'decided') {
        const { elicitationId } = elicitation
        await tellHost(messageLine({ method: 'notifications/elicitation/complete', params: { elicitationId } }))
      }
      return decided
    } finally {
      this.#asked.delete(id)
    }
  }

  #question({ call, approval }: WaitingCall): { readonly mode: 'url'; readonly message: string; readonly url: string } {
    const { run, desk } = this.#options
    const message = `${call.tool} needs an approval of its arguments. This page shows them, and takes the decision.`
    return { mode: 'url', message, url: approvalPage(run.id, approval, desk) }
  }

  #declined({ call, approval }: WaitingCall): Asked {
    const { run, desk } = this.#options
    return { kind: 'answer', line: notOpened(call, { runId: run.id, approval }, desk) }
  }

  /** Looks without claiming: a claim would use the approval. */
  async #decision({ approval, over }: WaitingCall, until: number): Promise<Asked> {
    const { client, run } = this.#options
    while (performance.now() < until && !over.aborted) {
      // A ledger that does not answer now may answer the next time.
      const seen = await client.approval(run.id, approval).catch(() => undefined)
      if (seen !== undefined && seen.status !== 'pending') return { kind: 'decided' }
      await sleep(LOOK_AGAIN_MS, undefined, { signal: over }).catch(() => undefined)
    }
    return { kind: 'waits' }
  }

  #end(): number {
    return performance.now() + (this.#options.waitMs ?? WAIT_MS)
  }
}
