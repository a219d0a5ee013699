/** Fetches the signed texts, checks them in the browser, and shows the result of each check. The verifier key is taken from the text field. */
import { type Check, checkEvidence, type Evidence } from './evidence.ts'

const MARKS = { good: '\u2713', bad: '\u2717', open: '\u2013' } as const

for (const panel of document.querySelectorAll<HTMLElement>('[data-evidence]')) enable(panel)

function enable(panel: HTMLElement): void {
  const run = (): void => {
    check(panel).catch((error: unknown) => say(panel, 'bad', error instanceof Error ? error.message : String(error)))
  }
  panel.querySelector('button')?.addEventListener('click', run)
  run()
}

async function check(panel: HTMLElement): Promise<void> {
  if (globalThis.crypto?.subtle === undefined) {
    say(
      panel,
      'open',
      'This page does not come by TLS or from this machine: browsers offer no Web Crypto then. Take the proof file to another tool.',
    )
    return
  }
  say(panel, 'open', 'Checking\u2026')
  const response = await fetch(panel.dataset.evidence ?? '', { headers: { accept: 'application/json' } })
  if (!response.ok) throw new Error(`The evidence cannot be read (${response.status}). Reload the page.`)
  const evidence = (await response.json()) as Evidence
  const field = panel.querySelector('textarea')
  const checks = await checkEvidence(evidence, field?.value.trim() ?? '')
  for (const each of checks) show(panel, each)
  const worst = checks.some(({ verdict }) => verdict === 'bad')
    ? 'bad'
    : checks.some(({ verdict }) => verdict === 'open')
      ? 'open'
      : 'good'
  say(panel, worst, VERDICTS[worst])
}

const VERDICTS = {
  good: 'Verified in this browser',
  bad: 'This does not verify',
  open: 'Checked as far as it goes',
} as const

function show(panel: HTMLElement, { name, verdict, text }: Check): void {
  const item = panel.querySelector<HTMLElement>(`[data-check="${name}"]`)
  if (item === null) return
  item.dataset.verdict = verdict
  const [mark, words] = [item.querySelector('.mark-sign'), item.querySelector('.words')]
  if (mark !== null) mark.textContent = MARKS[verdict]
  if (words !== null) words.textContent = text
}

function say(panel: HTMLElement, verdict: 'good' | 'bad' | 'open', text: string): void {
  panel.dataset.verdict = verdict
  const verdictLine = panel.querySelector('[role="status"]')
  if (verdictLine !== null) verdictLine.textContent = text
}
