import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countersign } from '../support/command-line.ts'
import { REFUSED_RUN } from '../support/dashboard-seed.ts'
import { chromiumPath, withUiBrowser } from '../support/ui-browser.ts'

const test = suite('dashboard: pages that keep up, in a browser')
const claim = chromiumPath === undefined ? test.skip : test

/** Shorter than what a page waits for changes to come together. */
const APART_MS = 100
/** A page that waits for the last event would wait for so long. */
const MOST_MS = 60_000

claim('a page is brought up to date while events go on coming, not only once they stop', async () => {
  await withUiBrowser(async ({ page, url, folder }) => {
    const args = ['token', '--data', folder, '--tenant', 'acme', '--scope', 'runs:write']
    const { stdout } = await countersign(args, { cwd: folder })
    await page.goto(`${url}/ui/runs/claim-2293`)
    let isShown = false
    const seen = page
      .getByRole('cell', { name: /Handoff of latecomer accepted/ })
      .first()
      .waitFor({ timeout: 3 * MOST_MS })
      .then(() => {
        isShown = true
      })
    for (let count = 0; !isShown && count < MOST_MS / APART_MS; count += 1) {
      const posted = await fetch(`${url}/v1/runs/claim-2293/envelopes`, {
        method: 'POST',
        headers: { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' },
        body: JSON.stringify({ agent: 'latecomer', mode: 'extend', payload: { note: `${count}` } }),
      })
      assert.ok(posted.status < 500, String(posted.status))
      await new Promise((resolve) => setTimeout(resolve, APART_MS))
    }
    assert.ok(isShown)
    await seen
  })
})

claim(
  'an event opens below its row and closes again, by keyboard too; without a script the same link leads to its page',
  async () => {
    await withUiBrowser(async ({ page, url }) => {
      await page.goto(`${url}/ui/runs/${REFUSED_RUN}`)
      const link = page.getByRole('link', { name: 'Event 8', exact: true })
      await link.focus()
      await page.keyboard.press('Enter')
      await page.locator('.event-detail').getByText('dataDigest').waitFor()
      assert.is(await link.getAttribute('aria-expanded'), 'true')
      assert.is(page.url(), `${url}/ui/runs/${REFUSED_RUN}`)
      assert.is(await page.locator('.event-detail .proof').count(), 0)
      await page.keyboard.press('Enter')
      await page.locator('.event-detail').waitFor({ state: 'detached' })
      assert.is(await link.getAttribute('aria-expanded'), 'false')
      await link.click()
      await page.getByRole('link', { name: 'Its page, with the proof' }).click()
      await page.locator('.proof[data-verdict="good"]').waitFor()
    })
    await withUiBrowser(
      async ({ page, url }) => {
        await page.goto(`${url}/ui/audit/events`)
        await page.getByRole('link', { name: 'event 22', exact: true }).first().click()
        await page.waitForURL(/\/ui\/runs\/[^/]+\/events\/22$/)
      },
      { javaScriptEnabled: false },
    )
  },
)

test.run()
