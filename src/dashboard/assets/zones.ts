/** Offers the browser's time zone in addition to UTC, and adds the local time to the title of each time. */
export {}

const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
const zones = document.getElementById('zones')
if (zones !== null && timeZone !== 'UTC') {
  const option = document.createElement('option')
  option.value = timeZone
  zones.append(option)
}

sayLocalTimes()
document.addEventListener('countersign:refreshed', sayLocalTimes)

function sayLocalTimes(): void {
  if (timeZone === 'UTC') return
  for (const time of document.querySelectorAll<HTMLTimeElement>('time:not([data-local])')) {
    time.dataset.local = ''
    time.title += `\n${new Date(time.dateTime).toLocaleString(undefined, { timeZoneName: 'short' })} (here)`
  }
}
