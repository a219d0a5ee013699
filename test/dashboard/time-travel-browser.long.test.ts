import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { REFUSED_RUN } from '../support/dashboard-seed.ts'
import { chromiumPath, withUiBrowser } from '../support/ui-browser.ts'

const test = suite('dashboard: a run as it was, in a browser')
const claim = chromiumPath === undefined ? test.skip : test

const BANNER = '#as-it-was'

/** Addresses of this run's pages that the page leads to, beside the way back to now. */
const linksOfRun = (page: Page): Promise<readonly string[]> =>
  page.evaluate(
    ([run = '', banner = '']) =>
      [...document.querySelectorAll('main a')]
        .filter((link) => link.closest(banner) === null)
        .map((link) => link.getAttribute('href') ?? '')
        .filter((href) => href === run || href.startsWith(`${run}/`) || href.startsWith(`${run}?`)),
    [`/ui/runs/${REFUSED_RUN}`, BANNER],
  )

claim(
  'whoever goes back in a run sees that it is the past wherever a link of it leads, step by step, until he goes to now (HTTP-28)',
  async () => {
    await withUiBrowser(async ({ page, url }) => {
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 800 })
        await page.goto(`${url}/ui/runs/${REFUSED_RUN}`)
        assert.is(await page.locator(BANNER).count(), 0)
        const eventsNow = await page.locator('table.events tbody tr').count()
        await page.getByLabel('As it was at').fill('event-9')
        await page.getByRole('button', { name: 'Go there' }).click()
        await page.locator(BANNER).waitFor()
        assert.is(await page.locator('table.events tbody tr').count(), 10)
        assert.ok(eventsNow > 10)
        const links = await linksOfRun(page)
        assert.ok(links.length > 10)
        assert.equal(
          links.filter((href) => !href.includes('asOf=event-9')),
          [],
        )
        // However far the page is scrolled.
        await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight))
        const box = await page.locator(BANNER).boundingBox()
        assert.ok(box !== null && box.y >= -1 && box.y < 800)
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width)

        await page.getByRole('link', { name: 'One event later' }).click()
        await page.waitForURL(/asOf=event-10$/)
        assert.is(await page.locator('table.events tbody tr').count(), 11)
        await page.goto(`${url}/ui/runs/${REFUSED_RUN}/events/10?asOf=event-10`)
        assert.match((await page.locator(BANNER).textContent()) ?? '', /This is the past/)
        assert.is(await page.getByRole('link', { name: 'Event 11', exact: true }).count(), 0)
        await page.getByRole('navigation', { name: 'You are here' }).getByRole('link', { name: REFUSED_RUN }).click()
        await page.waitForURL(/asOf=event-10$/)
        await page.getByRole('link', { name: 'As it is now' }).click()
        await page.waitForURL((address) => address.search === '')
        assert.is(await page.locator('table.events tbody tr').count(), eventsNow)
      }
    })
  },
)

claim(
  'from the list of then a run opens as it was then; a moment that the run does not have is refused in words (HTTP-28)',
  async () => {
    await withUiBrowser(async ({ page, url }) => {
      await page.goto(`${url}/ui/runs?asOf=40`)
      await page.locator('table.runs a.row-link').first().click()
      await page.waitForURL(/\/ui\/runs\/[^/]+\?asOf=40$/)
      assert.match((await page.locator(BANNER).textContent()) ?? '', /when the log had 40 events/)
      await page.getByLabel('As it was at').fill('1990-01-01')
      await page.getByRole('button', { name: 'Go there' }).click()
      await page.getByText('the log had no event then').waitFor()
      // A time of now is a size of the log from there on: its address answers the same for ever.
      await page.goto(`${url}/ui/runs/${REFUSED_RUN}?asOf=now`)
      assert.match((await linksOfRun(page)).join(' '), /asOf=\d+/)
    })
  },
)

test.run()
