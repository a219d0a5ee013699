/**
 * @module OCSF 1.9.0: every event as API Activity (class 6003) with the profiles `ai_operation` and `record_integrity`, one JSON object per line. `raw_data`
 * is the sealed record as it was signed: the attestation covers that record, not the OCSF object around it.
 */
import { trailerInOrder } from '../../schemas/export-trailer.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { ExportFormat, ExportTrailer } from './format.ts'
import { recordText } from './jsonl.ts'
import { ACTIVITY, activityTexts, classOf, PRODUCT, PROFILES, SERVICE, SEVERITY, STATUS, VERSION } from './ocsf-line.ts'
import { trailerId } from './signed-trailer.ts'

export const ocsf: ExportFormat = {
  contentType: 'application/x-ndjson',
  extension: 'ocsf.jsonl',
  isByEvent: true,
  open: (scope) => {
    const textsOf = activityTexts(scope)
    const line = (event: LedgerEvent): string => {
      const { before, after } = textsOf(event)
      return `${before},"raw_data":${JSON.stringify(recordText(event.texts))}${after}`
    }
    return {
      head: '',
      event: line,
      write: (event, file) => {
        if (event.seal !== 'valid') return file.add(line(event))
        const { before, after } = textsOf(event)
        file.add(`${before},"raw_data":"`)
        file.addEscaped(recordText(event.texts))
        file.add(`"${after}`)
      },
      rest: () => '',
      trailer: (trailer, lastTime) => {
        const lastMs = lastTime === undefined ? (scope.part?.beforeMs ?? 0) : Date.parse(lastTime)
        return `${JSON.stringify(trailerActivity(trailer, lastMs))}\n`
      },
    }
  },
}

function trailerActivity(trailer: ExportTrailer, lastMs: number): JsonObject {
  const { ledgerId, tenant } = trailer
  return {
    ...classOf(ACTIVITY.read),
    severity_id: SEVERITY.informational,
    status_id: STATUS.success,
    time: lastMs,
    timezone_offset: 0,
    message: 'End of the export',
    actor: { application: SERVICE },
    api: { operation: 'ExportTrailer', service: SERVICE },
    src_endpoint: { name: SERVICE.name },
    metadata: {
      version: VERSION,
      product: { ...PRODUCT, uid: ledgerId },
      profiles: PROFILES,
      uid: trailerId(trailer),
      event_code: 'ExportTrailer',
      tenant_uid: tenant,
    },
    unmapped: { trailer: trailerInOrder(trailer) },
  }
}
