/**
 * @module What ends with its token while it runs: streams that outlive the request that opened them. Tokens are judged again and again,
 * as they would be on a new request, so that expiry, a retired key and a removed issuer end what they opened (F33).
 */
import type { TokenVerifier } from '../signing/tokens.ts'

export interface WatchedToken {
  readonly token: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

export interface LiveTokens {
  /** Calls `over` once, when the token is good no longer. Returns what ends the watching. */
  watch(watched: WatchedToken, over: () => void): () => void
}

export interface LiveTokensDeps {
  readonly verifier: Pick<TokenVerifier, 'verify'>
  readonly now: () => number
  /** Time between two looks. */
  readonly checkMs: number
  readonly log: { error(fields: object, message: string): void }
}

interface Watch extends WatchedToken {
  readonly over: () => void
}

/** One timer for all streams; it runs while there are any, and holds no process. */
export function createLiveTokens({ verifier, now, checkMs, log }: LiveTokensDeps): LiveTokens {
  const watches = new Set<Watch>()
  let looking = false

  const isGood = async ({ token, expiresAt }: WatchedToken): Promise<boolean> => {
    try {
      return expiresAt > now() && (await verifier.verify(token)).ok
    } catch (error) {
      // What cannot be judged is not good: on a new request it would not pass either.
      log.error({ err: error }, 'a token cannot be checked: the streams it opened are ended')
      return false
    }
  }
  /** Never rejects: each token is judged by itself, and what ends a stream does not throw. */
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
