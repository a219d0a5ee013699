/** @module Every route whose answer is streamed or long, so that tests can break each of them at every point. */

export interface StreamedRoute {
  readonly path: string
  /** Has no end of its own. */
  readonly endless: boolean
  /** Asked with a session's cookie instead of a token. */
  readonly page: boolean
}

const FORMATS = ['jsonl', 'csv', 'cloudevents', 'ocsf', 'otlp'] as const

const api = (path: string, more: Partial<StreamedRoute> = {}): StreamedRoute => ({
  path,
  endless: false,
  page: false,
  ...more,
})
const page = (path: string, more: Partial<StreamedRoute> = {}): StreamedRoute =>
  api(`/ui${path}`, { page: true, ...more })

/** For one run of the tenant. */
export function streamedRoutes(run: string): readonly StreamedRoute[] {
  const endless = true
  return [
    ...FORMATS.map((format) => api(`/v1/export?format=${format}`)),
    ...FORMATS.map((format) => api(`/v1/runs/${run}/export?format=${format}`)),
    api('/v1/export?types=EnvelopeAccepted'),
    api('/v1/bundle'),
    api(`/v1/bundle?run=${run}`),
    api(`/v1/runs/${run}/replay`),
    api('/v1/tail', { endless }),
    api(`/v1/runs/${run}/tail`, { endless }),
    api('/v1/events?limit=500'),
    api(`/v1/runs/${run}/events?limit=500`),
    api('/v1/audit/events?limit=500'),
    api('/v1/audit/sample?seed=s&limit=100'),
    api('/v1/log/tile/entries/000.p/1'),
    page('/live', { endless }),
    page(`/runs/${run}/live`, { endless }),
    page('/download/export'),
    page(`/download/runs/${run}/export`),
    page('/download/bundle'),
    page(`/runs/${run}`),
  ]
}
