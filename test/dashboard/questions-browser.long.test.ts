import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { chromiumPath, withUiBrowser } from '../support/ui-browser.ts'

const test = suite('dashboard: the seven questions of an auditor, in a browser')
const claim = chromiumPath === undefined ? test.skip : test

const CLICKS_MAX = 2
const SECONDS_MAX = 60
/** A desk, and a phone. */
const WIDTHS = [1440, 390]

type Click = (name: string | RegExp) => Promise<void>

interface Question {
  readonly text: string
  /** From the overview to the page that answers. */
  readonly way: (page: Page, click: Click) => Promise<void>
  readonly answer: RegExp
}

const first = (name: string | RegExp) => async (_: Page, click: Click) => click(name)

const QUESTIONS: readonly Question[] = [
  {
    text: 'Was anything altered, and who vouches for that?',
    way: first('The log, and what was checked'),
    answer: /No event is recorded as broken.*The last checkpoint.*Recorded checkpoints/s,
  },
  {
    text: 'Which handoff was refused, why, and what would it have changed?',
    way: first(/^writer: contradicted/),
    answer: /Handoff of writer refused.*184300\.00 EUR.*214300\.00 EUR.*the output of fetch-claim-file/s,
  },
  {
    text: 'Is that refusal proven, without trusting the page that shows it?',
    way: async (page, click) => {
      await click(/^writer: contradicted/)
      await page.locator('.proof[data-verdict="good"]').waitFor()
    },
    answer: /Verified in this browser/,
  },
  {
    text: 'Which compensation failed, and with what error?',
    way: first(/^recall-letter: compensation-failed/),
    answer: /Compensation recall-letter failed: .*the letter has left the building/s,
  },
  {
    text: 'Which calls are in doubt?',
    way: first('All calls in doubt or overdue'),
    answer: /notify-broker.*claim-2293/s,
  },
  {
    text: 'What did each agent spend, and in which runs?',
    way: first(/^writer.*0\.1795 USD/),
    answer: /claim-2291.*0\.1795.*USD/s,
  },
  {
    text: 'Who read what?',
    way: first('All recorded reads'),
    answer: /audit\/spend.*audit\/access|audit\/access.*audit\/spend/s,
  },
]

claim(
  `each of the seven is answered from the overview by at most ${CLICKS_MAX} clicks, within a minute, on a desk and on a phone`,
  async () => {
    await withUiBrowser(async ({ page, url }) => {
      const rows: string[] = []
      const each = WIDTHS.flatMap((width) => QUESTIONS.map((question) => ({ width, ...question })))
      for (const { width, text, way, answer } of each) {
        await page.setViewportSize({ width, height: 900 })
        let clicks = 0
        const startedMs = performance.now()
        await page.goto(`${url}/ui/overview`)
        await way(page, async (name) => {
          clicks += 1
          await page.locator('main').getByRole('link', { name }).first().click()
          await page.waitForURL((address) => !address.pathname.endsWith('/overview'))
        })
        assert.match((await page.locator('main').textContent()) ?? '', answer, text)
        const seconds = (performance.now() - startedMs) / 1_000
        assert.ok(clicks <= CLICKS_MAX && seconds < SECONDS_MAX, `${text}: ${clicks} clicks, ${seconds} s`)
        rows.push(`${width} px: ${text} | ${clicks} | ${seconds.toFixed(1)} s`)
      }
      console.log(rows.join('\n'))
    })
  },
)

test.run()
