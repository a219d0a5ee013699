/**
 * @module Ends long-lived streams together with their token. Tokens are verified repeatedly, as on a new request, so that expiry, a retired key or a removed
 * issuer also ends the streams that were opened earlier (F33).
 */
import type { TokenVerifier } from '../signing/tokens.ts'

export interface WatchedToken {
  readonly token: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

export interface LiveTokens {
  /** Calls `over` once, when the token is no longer valid. Returns a function that stops the watching. */
  watch(watched: WatchedToken, over: () => void): () => void
}

export interface LiveTokensDeps {
  readonly verifier: Pick<TokenVerifier, 'verify'>
  readonly now: () => number
  /** Interval between two checks, in milliseconds. */
  readonly checkMs: number
  readonly log: { error(fields: object, message: string): void }
}

interface Watch extends WatchedToken {
  readonly over: () => void
}

/** One timer for all streams; it runs only while there are streams, and does not keep the process alive. */
export function createLiveTokens({ verifier, now, checkMs, log }: LiveTokensDeps): LiveTokens {
  const watches = new Set<Watch>()
  let looking = false

  const isGood = async ({ token, expiresAt }: WatchedToken): Promise<boolean> => {
    try {
      return expiresAt > now() && (await verifier.verify(token)).ok
    } catch (error) {
      // A token that cannot be verified counts as invalid: a new request with it would be refused, too.
      log.error({ err: error }, 'a token cannot be checked: the streams it opened are ended')
      return false
    }
  }
  /** Never rejects: each token is checked separately, and the callbacks that end a stream do not throw. */
  const look = async (): Promise<void> => {
    const judged = new Map<string, boolean>()
    for (const watch of [...watches]) {
      const good = judged.get(watch.token) ?? (await isGood(watch))
      judged.set(watch.token, good)
      if (!good && watches.delete(watch)) watch.over()
    }
    looking = false
    if (watches.size > 0) lookSoon()
  }
  const lookSoon = (): void => {
    if (looking) return
    looking = true
    setTimeout(() => void look(), checkMs).unref()
  }

  return {
    watch: ({ token, expiresAt }, over) => {
      const watch: Watch = { token, expiresAt, over }
      watches.add(watch)
      lookSoon()
      return () => {
        watches.delete(watch)
      }
    },
  }
}
