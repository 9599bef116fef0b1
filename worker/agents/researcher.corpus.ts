// The researcher's library: short articles that come with the agent, so that it works without a network.

export interface Article {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

export const ARTICLES: readonly Article[] = [
  {
    id: "tides",
    title: "Why there are two tides a day",
    text: "The moon pulls the near ocean more than the earth, and the earth more than the far ocean. Water heaps up on both sides, and the earth turns below the two heaps: most coasts see two high tides in about twenty-five hours.",
  },
  {
    id: "spring-tides",
    title: "Spring and neap tides",
    text: "When sun and moon stand in one line, at new and full moon, their pulls add up to spring tides. At half moon they work against each other, and the neap tides that follow are low.",
  },
  {
    id: "harbours",
    title: "How harbours live with tides",
    text: "Docks behind lock gates keep ships afloat at low tide. Where the range is small, floating pontoons are enough. Tide tables tell pilots when the channel is deep enough for a ship's draught.",
  },
  {
    id: "lighthouses",
    title: "What a lighthouse says",
    text: "Each light has a character of its own: a colour and a rhythm of flashes that the chart lists. A sailor who counts the seconds between flashes knows which light it is.",
  },
  {
    id: "fog-signals",
    title: "Signals in fog",
    text: "A foghorn repeats its pattern so that ships can tell one horn from another. Sound bends in layers of warm and cold air, so its distance is hard to judge, and radar is believed first.",
  },
  {
    id: "charts",
    title: "Depths on a chart",
    text: "A chart gives depths at the lowest tide that is expected. The height of the tide, from the tables, is added to it to know how much water there is now.",
  },
];
