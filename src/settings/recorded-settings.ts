/** @module The settings of a process in the form that is recorded: by flag name; files as digests, addresses as hosts. It contains no secrets. */
import { readFileSync } from 'node:fs'
import { digestText, sha256 } from '../signing/digests.ts'
import type { Settings } from './config.ts'
import type { SettingName } from './settings.ts'

/** `sha256:` digest of a file's bytes; undefined if the file cannot be read. */
export function digestOfFile(path: string): string | undefined {
  try {
    return digestText(sha256(readFileSync(path)))
  } catch {
    return undefined
  }
}

export function recordedSettings(settings: Settings): Readonly<Record<string, string>> {
  const { policy, trustedIssuers, witnesses, gateway, judge, values, memoryBytes, webhook, timestamp } = settings
  // Every setting is named here, so that a new setting is either recorded or excluded explicitly.
  const named: Readonly<Record<SettingName, string | number | boolean | undefined>> = {
    // Not recorded: paths only concern the machine, keys are recorded by id, and known keys belong to a person.
    data: undefined,
    keys: undefined,
    'known-keys': undefined,
    store: settings.store.kind,
    host: settings.host,
    port: settings.port,
    'log-level': settings.logLevel,
    issuer: settings.issuer,
    audience: settings.audience,
    'rate-per-second': settings.ratePerSecond,
    'rate-burst': settings.rateBurst,
    'work-ms-per-second': settings.workMsPerSecond,
    'max-connections': settings.maxConnections,
    'drain-seconds': settings.drainMs / 1_000,
    'checkpoint-seconds': settings.checkpointDelayMs / 1_000,
    'scrub-days': settings.scrubDays,
    'read-threads': settings.readThreads,
    'value-inline-bytes': values.inlineMaxBytes,
    'value-max-bytes': values.maxBytes,
    'payload-scope': settings.payloadScope,
    'strict-access': settings.strictAccess,
    'open-metrics': settings.openMetrics,
    'request-log': settings.requestLog,
    memory: memoryBytes,
    // `policy` is either the path of a file or the name of a built-in policy.
    policy: policy === undefined ? undefined : (digestOfFile(policy) ?? policy),
    retention: settings.retention === undefined ? undefined : digestOfFile(settings.retention),
    'trusted-issuers': trustedIssuers === undefined ? undefined : digestOfFile(trustedIssuers),
    witnesses: witnesses === undefined ? undefined : digestOfFile(witnesses),
    // The gateway's file names the places of keys and contains none.
    gateway: gateway === undefined ? undefined : digestOfFile(gateway),
    origin: settings.origin,
    judge: judge === undefined ? undefined : new URL(judge).host,
    'judge-allow': judge === undefined ? undefined : listed(settings.judgeAllow),
    'timestamp-url': timestamp && new URL(timestamp.url).host,
    'timestamp-minutes': timestamp && timestamp.intervalMs / 60_000,
    'timestamp-allow': timestamp && listed(timestamp.allow),
    webhook: webhook === undefined ? undefined : new URL(webhook.url).host,
    // Secrets are never recorded, not even as a digest.
    'webhook-secrets': undefined,
    'webhook-events': webhook?.events.join(','),
    'webhook-allow': webhook && listed(webhook.allow),
    'public-url': webhook?.publicUrl === undefined ? undefined : new URL(webhook.publicUrl).host,
    cors: listed(settings.corsOrigins),
  }
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value).slice(0, TEXT_MAX_CHARS)]],
    ),
  )
}

/** Undefined if the list is empty. */
function listed(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : names.join(',')
}

const TEXT_MAX_CHARS = 1_024
