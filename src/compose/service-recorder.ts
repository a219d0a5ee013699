/**
 * @module Records that this process serves a ledger: its start with its settings, edits of the settings files, issued tokens, and its end (LOG-30, LOG-31).
 * Only the end waits for the record, and only briefly; records that the store does not accept are retried.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../ledger/ports.ts'
import type { ServiceRecord } from '../ledger/service.ts'
import type { Settings } from '../settings/config.ts'
import { digestOfFile, recordedSettings } from '../settings/recorded-settings.ts'
import { watchFile } from '../settings/watch-file.ts'
import { takeIssuedTokens } from './issued-tokens.ts'

/** Longest wait for the end to be recorded, in milliseconds: an unavailable store must not delay the exit. */
const STOP_MAX_MS = 300
const LOOK_MS = 1_000
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000

export interface ServiceRecorder {
  /** Records the end, if the store accepts it within a short time. Never rejects. */
  readonly close: () => Promise<void>
}

interface ServiceParts {
  readonly ledger: { readonly service: ServiceRecord }
  readonly settings: Settings
  readonly version: string
  readonly log: Log
}

export function recordService({ ledger: { service }, settings, version, log }: ServiceParts): ServiceRecorder {
  const closing = new AbortController()
  const facts = { version, node: process.version, settings: recordedSettings(settings) }
  const again = untilRecorded(log, closing.signal)
  const started = again(() => service.started(facts))
  const edits = watchedFiles(settings, (setting, digest) => {
    void started.then((start) =>
      start === undefined ? undefined : again(() => service.changed(start, { setting, digest })),
    )
  })
  const tokens = settings.store.kind === 'memory' ? undefined : takeTokens()

  function takeTokens(): NodeJS.Timeout {
    let isTaking = false
    const take = async (): Promise<void> => {
      if (isTaking) return
      isTaking = true
      await again(() => takeIssuedTokens(settings.data, (token) => service.tokenIssued(token), log))
      isTaking = false
    }
    void take()
    return setInterval(() => void take(), LOOK_MS).unref()
  }

  return {
    close: async () => {
      clearInterval(tokens)
      for (const edit of edits) edit[Symbol.dispose]()
      closing.abort()
      const stopped = started.then((start) => (start === undefined ? undefined : service.stopped(start)))
      const late = new AbortController()
      await Promise.race([
        stopped.catch((error: unknown) => log.warn({ err: error }, 'the end of this process is not recorded')),
        sleep(STOP_MAX_MS, undefined, { signal: late.signal }).catch(() => undefined),
      ])
      late.abort()
    },
  }
}

/** Retries with backoff until the work succeeds, or the process ends: then undefined. A failure is logged once. */
function untilRecorded(log: Log, signal: AbortSignal): <T>(work: () => Promise<T>) => Promise<T | undefined> {
  let isWarned = false
  return async (work) => {
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(2 * waitMs, LAST_RETRY_MS)) {
      try {
        return await work()
      } catch (error) {
        if (signal.aborted) return undefined
        if (!isWarned) log.warn({ err: error }, 'what this process did cannot be recorded now: tried again')
        isWarned = true
      }
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return undefined
    }
  }
}

type EditedFile = 'policy' | 'trusted-issuers'

function watchedFiles(
  { policy, trustedIssuers }: Settings,
  onEdit: (setting: EditedFile, digest: string) => void,
): readonly Disposable[] {
  const named: readonly (readonly [EditedFile, string | undefined])[] = [
    ['policy', policy],
    ['trusted-issuers', trustedIssuers],
  ]
  return named.flatMap(([setting, path]) => {
    const first = path === undefined ? undefined : digestOfFile(path)
    if (path === undefined || first === undefined) return []
    let last = first
    const file = watchFile({ path, value: first, read: digestOfFile, onError: () => undefined })
    file.onChange((digest) => {
      // A file rewritten with the same bytes is not a change; a removed file leaves its last content in force.
      if (digest === undefined || digest === last) return
      last = digest
      onEdit(setting, digest)
    })
    return [file]
  })
}
