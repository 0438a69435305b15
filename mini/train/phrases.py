"""Sentences made up by rule: parameters that come in pairs and triples, everyday requests, and small talk."""

import random
from typing import Callable, NamedTuple

from values import (
    ANIMALS, CITIES, COMPANIES, CURRENCIES, DEVICES, DISHES, FEATURES, LANGUAGES, SONGS, SUBJECTS,
    city, date, formula, fraction, hour, integer, large_amount, number_list, person, some_of, some_words,
    spoken_numbers, title, word,
)


class Group(NamedTuple):
    """Parameters that are said together, and how."""

    names: list[str]
    descriptions: list[str]
    values: list[Callable[[], str]]
    phrases: list[str]


class Everyday(NamedTuple):
    """A tool that everybody knows, and how people ask for it."""

    names: list[str]
    descriptions: list[str]
    parameters: dict[str, tuple[str, Callable[[], str]]]
    phrases: list[str]


GROUPS = [
    Group(
        ['num1', 'num2'],
        ['first number', 'second number'],
        [integer(), integer()],
        ['{0} and {1}', 'the numbers {0} and {1}', 'two numbers: {0} and {1}', '{0}, {1}'],
    ),
    Group(
        ['number1', 'number2'],
        ['The first number', 'The second number'],
        [integer(), integer()],
        ['{0} and {1}', 'two numbers, say {0} and {1}', '{0} with {1}'],
    ),
    Group(
        ['a', 'b'],
        ['', ''],
        [integer(), integer()],
        ['{0} and {1}', 'a = {0} and b = {1}', 'a={0}, b={1}'],
    ),
    Group(
        ['a', 'b', 'c'],
        ['coefficient a', 'coefficient b', 'coefficient c'],
        [integer(), integer(), integer()],
        ['a = {0}, b = {1}, and c = {2}', 'coefficients {0}, {1} and {2}', 'a={0} b={1} c={2}'],
    ),
    Group(
        ['x', 'y'],
        ['', ''],
        [fraction, fraction],
        ['{0} and {1}', 'x={0}, y={1}', 'sides of {0} and {1}'],
    ),
    Group(
        ['start_x', 'end_x'],
        ['start of the interval', 'end of the interval'],
        [integer(-9), integer()],
        ['from x = {0} to x = {1}', 'between {0} and {1}'],
    ),
    Group(
        ['start', 'end'],
        ['start value', 'end value'],
        [fraction, fraction],
        ['from {0} to {1}', 'between {0} and {1}', 'starting at {0} and ending at {1}'],
    ),
    Group(
        ['origin', 'destination'],
        ['starting point', 'end point'],
        [city, city],
        ['from {0} to {1}', 'between {0} and {1}', 'to {1} from {0}'],
    ),
    Group(
        ['start_location', 'end_location'],
        ['where to start', 'where to go'],
        [city, city],
        ['from {0} to {1}', 'between {0} and {1}', 'to {1} starting in {0}'],
    ),
    Group(
        ['start_city', 'end_city'],
        ['', ''],
        [city, city],
        ['two cities, {0} and {1}', '{0} and {1}', 'from {0} to {1}'],
    ),
    Group(
        ['city1', 'city2'],
        ['first city', 'second city'],
        [city, city],
        ['{0} and {1}', 'between {0} and {1}'],
    ),
    Group(
        ['start_date', 'end_date'],
        ['first day', 'last day'],
        [date, date],
        ['from {0} to {1}', 'between {0} and {1}', 'starting {0} until {1}'],
    ),
    Group(
        ['base', 'height'],
        ['', ''],
        [integer(), integer()],
        [
            'base {0}{u} and height {1}{u}',
            'a base of {0}{u} and a height of {1}{u}',
            'its base and height as {0}{u} and {1}{u}',
        ],
    ),
    Group(
        ['length', 'width'],
        ['', ''],
        [integer(), integer()],
        ['length {0}{u} and width {1}{u}', '{0}{u} by {1}{u}', '{0}{u} long and {1}{u} wide'],
    ),
    Group(
        ['radius', 'height'],
        ['', ''],
        [integer(), integer()],
        ['radius {0}{u} and height {1}{u}', 'a height of {1}{u} and a radius of {0}{u}'],
    ),
    Group(
        ['mass', 'velocity'],
        ['mass of the object', 'speed of the object'],
        [fraction, fraction],
        ['a mass of {0} kg and a velocity of {1} m/s', '{0} kg moving at {1} m/s', '{0} kg at {1} m/s'],
    ),
    Group(
        ['initial_velocity', 'acceleration', 'time'],
        ['starting speed', 'acceleration', 'how long'],
        [integer(0), fraction, integer()],
        [
            'starting from a speed of {0} m/s, accelerating at {1} m/s^2 for {2} seconds',
            'accelerating at {1} meters/second^2 for a duration of {2} seconds, starting from {0} meters/second',
            'initial velocity of {0} and acceleration of {1} within {2} seconds',
        ],
    ),
    Group(
        ['distance', 'time'],
        ['distance travelled', 'time taken'],
        [integer(), integer()],
        ['{0}{u} in {1} seconds', '{0} meters in {1} minutes', 'traveled {0} km within {1} hours'],
    ),
    Group(
        ['charge', 'distance'],
        ['', ''],
        [fraction, fraction],
        ['{1} meters away from a charge of {0} coulombs', 'a charge of {0} C at a distance of {1} m'],
    ),
    Group(
        ['charge1', 'charge2', 'distance'],
        ['first charge', 'second charge', 'distance between them'],
        [fraction, fraction, fraction],
        [
            'charges of {0}C and {1}C placed {2} meters apart',
            '{0} and {1} of distance {2}',
            '{0} C and {1} C at {2} m',
        ],
    ),
    Group(
        ['mass1', 'temperature1', 'mass2', 'temperature2'],
        ['', '', '', ''],
        [integer(), integer(), integer(), integer()],
        [
            '{0} kg of water at {1} degrees Celsius and {2} kg of water at {3} degrees Celsius',
            '{0} g at {1} degrees with {2} g at {3} degrees',
        ],
    ),
    Group(
        ['principal', 'interest_rate', 'years'],
        ['amount invested', 'yearly rate', 'number of years'],
        [integer(), fraction, integer(1, 40)],
        [
            '${0} at {1}% for {2} years',
            'a principal of {0}, an interest rate of {1} percent over {2} years',
            '{0} dollars invested for {2} years at {1}%',
        ],
    ),
    Group(
        ['initial_population', 'growth_rate', 'years'],
        ['current size', 'yearly growth', 'years ahead'],
        [integer(), fraction, integer(1, 50)],
        [
            '{0} in the next {2} years with a growth rate of {1}',
            'starting with {0}, growing {1} per year for {2} years',
        ],
    ),
    Group(
        ['latitude', 'longitude'],
        ['', ''],
        [fraction, fraction],
        ['latitude {0} and longitude {1}', 'coordinates {0}, {1}', '({0}, {1})'],
    ),
    Group(
        ['hours', 'minutes'],
        ['', ''],
        [lambda: str(random.randint(1, 12)), lambda: f'{random.randint(0, 59):02d}'],
        ['{0}:{1} PM', '{0}:{1}', '{0} hours and {1} minutes'],
    ),
    Group(
        ['amount', 'from_currency', 'to_currency'],
        ['', 'currency to convert from', 'currency to convert to'],
        [integer(), lambda: random.choice(CURRENCIES), lambda: random.choice(CURRENCIES)],
        ['{0} {1} to {2}', '{0} {1} into {2}', '{0} from {1} to {2}'],
    ),
    Group(
        ['species1', 'species2'],
        ['first species', 'second species'],
        [lambda: random.choice(ANIMALS), lambda: random.choice(ANIMALS)],
        ['a {0} and a {1}', '{0} and {1}', 'between {0} and {1}'],
    ),
    Group(
        ['location', 'cuisine'],
        ['city to search in', 'kind of food'],
        [city, lambda: random.choice(DISHES)],
        ['a {1} restaurant in {0}', '{1} food in {0}', 'in {0} that serves {1}', '{1} near {0}'],
    ),
    Group(
        ['location', 'days'],
        ['city', 'number of days'],
        [city, integer(1, 14)],
        [
            '{0} for the next {1} days',
            'the next {1} days in {0}',
            'a {1} days trip to {0}',
            '{1}-day trip in {0}',
        ],
    ),
    Group(
        ['title', 'author'],
        ['title of the book', 'who wrote it'],
        [title, person],
        ["'{0}' by {1}", '{0} written by {1}', 'the book {0} from {1}'],
    ),
    Group(
        ['team1', 'team2'],
        ['', ''],
        [city, city],
        ['{0} vs {1}', '{0} and {1}', '{0} against {1}'],
    ),
    Group(
        ['sender', 'recipient'],
        ['', ''],
        [person, person],
        ['from {0} to {1}', 'to {1} from {0}'],
    ),
    Group(
        ['name', 'age'],
        ['name of the person', 'age in years'],
        [person, integer(1, 90)],
        ['{0}, aged {1}', '{0} who is {1} years old', 'a {1}-year-old named {0}'],
    ),
    Group(
        ['color', 'size', 'habitat'],
        ['', '', ''],
        [
            lambda: random.choice(['red', 'green', 'blue', 'black', 'white', 'yellow']),
            lambda: random.choice(['small', 'large', 'medium']),
            lambda: random.choice(['forest', 'desert', 'lake', 'garden']),
        ],
        ['a {1} {0} bird in {2}', '{1} and {0} in the {2}'],
    ),
    Group(
        ['item', 'quantity'],
        ['what to buy', 'how many'],
        [word, integer(1, 30)],
        ['{1} {0}s', '{1} of {0}', '{0} times {1}'],
    ),
    Group(
        ['city', 'country', 'year'],
        ['', '', ''],
        [
            city,
            lambda: random.choice(['Brazil', 'France', 'India', 'Japan', 'Kenya', 'Spain', 'Canada']),
            lambda: str(random.randint(1900, 2027)),
        ],
        ['{0}, {1} in {2}', '{2} for {0} in {1}'],
    ),
    Group(
        ['device_name', 'level'],
        ['name of the device', 'brightness in percent'],
        [
            lambda: random.choice(['kitchen lamp', 'switch one', 'bedroom light', 'garage door', 'hall lamp', 'desk fan', 'porch light']),
            integer(0, 100),
        ],
        ['{0} to {1}', '{0} at {1} percent', '{0} {1}%'],
    ),
    Group(
        ['weight', 'height'],
        ['', ''],
        [integer(40, 200), integer(50, 210)],
        ['weight {0}{u} and height {1}{u}', '{0} kg and {1} cm tall'],
    ),
    Group(
        ['numerator', 'denominator'],
        ['', ''],
        [integer(), integer()],
        ['{0} over {1}', '{0} divided by {1}', '{0}/{1}'],
    ),
    Group(
        ['min_price', 'max_price'],
        ['lowest price', 'highest price'],
        [integer(), integer()],
        ['between {0} and {1} dollars', 'from ${0} to ${1}'],
    ),
    Group(
        ['budget', 'destination'],
        ['most to spend', 'where to'],
        [integer(), city],
        ['{1} with a budget of ${0}', '{1} under {0} dollars', 'to {1} spending at most {0}'],
    ),
    Group(
        ['phone', 'message'],
        ['number to call', 'text to send'],
        [
            lambda: f'+{random.randint(1, 99)} {random.randint(100, 999)} {random.randint(1000000, 9999999)}',
            lambda: ' '.join(some_words(2, 6)).lower(),
        ],
        ["'{1}' to {0}", '{0} saying {1}', "{0} with the text '{1}'"],
    ),
    Group(
        ['numbers'],
        ['list of numbers'],
        [number_list],
        ['{0}', 'the numbers {0}', 'the list {0}', 'list of integers {0}'],
    ),
    Group(
        ['numbers'],
        [''],
        [spoken_numbers],
        ['{0}', 'the numbers {0}'],
    ),
    Group(
        ['data'],
        ['values to analyse'],
        [number_list],
        ['the dataset {0}', 'data {0}', 'values {0}'],
    ),
    Group(
        ['vector1', 'vector2'],
        ['first vector', 'second vector'],
        [number_list, number_list],
        ['vector A {0} and vector B {1}', '{0} and {1}', 'the vectors {0} and {1}'],
    ),
    Group(
        ['array_1', 'array_2', 'alpha'],
        ['first sample', 'second sample', 'significance'],
        [number_list, number_list, fraction],
        ['Control {0} and Treated {1} group with alpha equals to {2}', '{0} and {1} with alpha {2}'],
    ),
    Group(
        ['companies'],
        ['names of the companies'],
        [some_of(COMPANIES)],
        ['{0}', 'the stocks of {0}'],
    ),
    Group(
        ['companies', 'duration'],
        ['', 'time range'],
        [
            some_of(COMPANIES),
            lambda: f'{random.randint(2, 9)} ' + random.choice(['weeks', 'days', 'months', 'years']),
        ],
        ['{0} for the last {1}', '{0} over the past {1}'],
    ),
    Group(
        ['location', 'features'],
        ['city', 'what it must have'],
        [city, some_of(FEATURES)],
        ['{0} with {1}', 'in {0} that has {1}', '{1} in {0}'],
    ),
    Group(
        ['cities'],
        ['list of cities'],
        [some_of(CITIES)],
        ['{0}', 'the cities {0}'],
    ),
    Group(
        ['function', 'start', 'end'],
        ['function to integrate', 'lower bound', 'upper bound'],
        [formula, integer(0, 9), integer(1, 20)],
        [
            '{0} from {1} to {2}',
            'the function {0} between {1} and {2}',
            'y = {0} from x = {1} to x = {2}',
            'f(x) = {0} from {1} to {2}',
        ],
    ),
    Group(
        ['expression'],
        ['math expression to evaluate'],
        [formula],
        ['{0}', 'what is {0}', 'the value of {0}', 'the expression {0}'],
    ),
    Group(
        ['function', 'value'],
        ['the function', 'where to evaluate'],
        [formula, integer(0, 9)],
        ['the function {0} at x = {1}', '{0} at {1}'],
    ),
    Group(
        ['country', 'year', 'population', 'land_area'],
        ['', '', 'number of people', 'area'],
        [
            lambda: random.choice(['Brazil', 'France', 'India', 'Japan', 'Kenya']),
            lambda: str(random.randint(1990, 2027)),
            large_amount,
            large_amount,
        ],
        [
            '{0} in {1} if the population is {2} and the land area is {3} square kilometers',
            '{0} with a population of {2} and an area of {3} in {1}',
        ],
    ),
    Group(
        ['investment_amount', 'years', 'annual_return'],
        ['money invested', 'how many years', 'yearly return'],
        [large_amount, integer(1, 30), lambda: f'{random.randint(1, 15)}%'],
        [
            '${0} over {1} years with an annual return of {2}',
            '{1} years given I have invested ${0} and the return rate is {2}',
        ],
    ),
    Group(
        ['discount_rate', 'initial_investment'],
        ['rate to discount with', ''],
        [lambda: f'{random.randint(1, 15)}%', large_amount],
        ['a discount rate of {0} and an initial investment of ${1}', '${1} at a discount rate of {0}'],
    ),
    Group(
        ['trials', 'successes', 'p'],
        ['number of trials', 'number of successes', 'probability'],
        [integer(5, 50), integer(1, 10), fraction],
        [
            'exactly {1} heads in {0} tosses with probability {2}',
            '{1} successes in {0} trials with a probability of {2}',
        ],
    ),
    Group(
        ['side1', 'side2', 'side3'],
        ['', '', ''],
        [integer(1, 20), integer(1, 20), integer(1, 20)],
        ['sides {0}, {1} and {2}', 'three sides of {0} units, {1} units and {2} units'],
    ),
]

EVERYDAY = [
    Everyday(
        ['get_weather', 'weather', 'current_weather', 'weather_lookup'],
        ['Get current weather for a location', 'Current weather conditions', 'Weather forecast for a city'],
        {'location': ('City name', city)},
        [
            "what's the weather in {location}",
            'weather in {location}',
            'is it raining in {location}',
            'how hot is it in {location} right now',
            'do I need an umbrella in {location}',
            'what is it like outside in {location}',
            'temperature in {location} today',
            'forecast for {location}',
            'how cold will {location} be tonight',
        ],
    ),
    Everyday(
        ['calculate', 'calculator', 'math_eval', 'evaluate_expression'],
        ['Evaluate a mathematical expression', 'Does arithmetic', 'Perform a calculation'],
        {'expression': ('Math expression', formula)},
        [
            "what's {expression}",
            'calculate {expression}',
            'compute {expression}',
            'how much is {expression}',
            'work out {expression} for me',
            'evaluate {expression}',
        ],
    ),
    Everyday(
        ['calculate', 'calculator', 'math'],
        ['Evaluate a mathematical expression', 'Does arithmetic'],
        {},
        [
            'calculate a 15% tip on $45',
            'what is 20 percent of 80',
            'how much is 18% of 250',
            'split $120 between 4 people',
            'add up 12, 19 and 44',
            'what is the square root of 144',
            'convert 3/8 to a decimal',
            "what's 7 times 8",
        ],
    ),
    Everyday(
        ['search_documents', 'search_docs', 'knowledge_search', 'rag_search'],
        [
            'Search RAG collections for information',
            'Search the documentation',
            'Search technical documentation',
            'Find passages in documents',
        ],
        {'query': ('Search query', lambda: random.choice(SUBJECTS))},
        [
            'search for {query} in the docs',
            'find {query} in the documentation',
            'look up {query} in our documents',
            'what do the docs say about {query}',
            'search the knowledge base for {query}',
            'where is {query} documented',
            'show me the documentation on {query}',
        ],
    ),
    Everyday(
        ['control_zwave_device', 'control_device', 'set_light', 'smart_home'],
        [
            'Control a Z-Wave device such as a switch or lamp',
            'Turn a device on or off',
            'Switch lights and appliances',
        ],
        {'device_name': ('name of the device', lambda: random.choice(DEVICES))},
        [
            'turn on the {device_name}',
            'turn off the {device_name}',
            'switch the {device_name} on',
            'switch off {device_name} please',
            '{device_name} off',
            'could you turn the {device_name} on',
            'dim the {device_name}',
            'set the {device_name} to 40 percent',
            'lights on: {device_name}',
        ],
    ),
    Everyday(
        ['datetime', 'get_time', 'current_time', 'clock'],
        ['Current date and time', 'Get the time in a time zone', 'Date and time operations'],
        {'timezone': ('city or time zone', city)},
        [
            'what time is it in {timezone}',
            'current time in {timezone}',
            "what's the date today in {timezone}",
            'tell me the time in {timezone}',
        ],
    ),
    Everyday(
        ['datetime', 'clock', 'get_date'],
        ['Current date and time, differences between dates'],
        {},
        [
            'what time is it',
            'what day is it today',
            'how many days until Christmas',
            "what's today's date",
            'how long until New Year',
        ],
    ),
    Everyday(
        ['set_volume', 'volume'],
        ['Change the volume of the speaker'],
        {'level': ('volume in percent', integer(0, 100))},
        [
            'set the volume to {level}',
            'volume {level}',
            'turn it up to {level} percent',
            'make it louder, {level}',
        ],
    ),
    Everyday(
        ['translate', 'translate_text'],
        ['Translate text into another language'],
        {'language': ('target language', lambda: random.choice(LANGUAGES))},
        [
            'translate this to {language}',
            'how do you say good morning in {language}',
            'put this sentence into {language}',
            'what is thank you in {language}',
        ],
    ),
    Everyday(
        ['send_email', 'email', 'send_message'],
        ['Send an email to someone', 'Send a message'],
        {'recipient': ('who gets it', person)},
        [
            'send an email to {recipient}',
            'email {recipient} that I am late',
            'write to {recipient} about the meeting',
            'message {recipient}',
            'let {recipient} know I am coming',
        ],
    ),
    Everyday(
        ['create_event', 'add_calendar_event', 'schedule_meeting'],
        ['Create a calendar event', 'Schedule a meeting'],
        {'title': ('title of the event', title), 'time': ('when it starts', hour)},
        [
            'schedule {title} at {time}',
            'put {title} on my calendar for {time}',
            'add {title} at {time}',
            'book {title} tomorrow at {time}',
        ],
    ),
    Everyday(
        ['set_timer', 'timer', 'start_timer'],
        ['Start a countdown timer'],
        {'minutes': ('length in minutes', integer(1, 60))},
        [
            'set a timer for {minutes} minutes',
            'remind me in {minutes} minutes',
            'start a {minutes} minute timer',
            'wake me up in {minutes} minutes',
        ],
    ),
    Everyday(
        ['play_music', 'music', 'play_song'],
        ['Play a song or an artist'],
        {'song': ('song title', lambda: random.choice(SONGS))},
        ['play {song}', 'put on {song}', 'I want to hear {song}', 'start {song} in the living room'],
    ),
    Everyday(
        ['get_news', 'news', 'latest_news'],
        ['Latest news about a topic'],
        {'topic': ('topic of the news', lambda: random.choice(['politics', 'football', 'technology', 'the economy', 'space']))},
        ['news about {topic}', "what's new in {topic}", 'latest on {topic}', 'headlines about {topic}'],
    ),
    Everyday(
        ['get_stock_price', 'stock_quote'],
        ['Current price of a stock'],
        {'company': ('company name', lambda: random.choice(COMPANIES))},
        [
            'how is {company} stock doing',
            'price of {company} shares',
            '{company} stock price',
            'what does {company} trade at',
        ],
    ),
    Everyday(
        ['create_ticket', 'open_issue', 'support_ticket'],
        ['Open a support ticket'],
        {'title': ('short title', title)},
        [
            'open a ticket: {title}',
            'create an issue called {title}',
            'file a bug titled {title}',
            'report a problem: {title}',
        ],
    ),
    Everyday(
        ['summarize', 'summarize_text'],
        ['Summarise a text'],
        {},
        [
            'summarize this article',
            'give me the gist of this text',
            'make this shorter',
            'tl;dr of the report',
            'sum up the meeting notes',
        ],
    ),
    Everyday(
        ['web_search', 'search_web', 'google'],
        ['Search the web'],
        {'query': ('what to search for', lambda: random.choice(['cheap flights', 'best laptops', 'who invented the radio', 'history of Rome', 'how to fix a tap']))},
        [
            'search the web for {query}',
            'google {query}',
            'look online for {query}',
            'find {query} on the internet',
        ],
    ),
    Everyday(
        ['read_file', 'open_file'],
        ['Read a file from disk'],
        {'path': ('path of the file', lambda: random.choice(['README.md', 'src/index.ts', 'notes.txt', '/etc/hosts', 'report.pdf']))},
        ['read {path}', 'open the file {path}', "show me what's in {path}", 'print {path}'],
    ),
    Everyday(
        ['query_database', 'run_sql'],
        ['Run a SQL query'],
        {'table': ('table name', lambda: random.choice(['users', 'orders', 'products', 'invoices']))},
        [
            'how many rows are in {table}',
            'list everything in {table}',
            'select all from {table}',
            'show the last {table}',
        ],
    ),
    Everyday(
        ['convert_currency', 'exchange_rate'],
        ['Convert an amount between currencies'],
        {'amount': ('amount of money', integer(1, 900)), 'to_currency': ('currency to convert to', lambda: random.choice(CURRENCIES))},
        [
            'how much is {amount} euro in {to_currency}',
            'convert {amount} to {to_currency}',
            '{amount} dollars in {to_currency}',
        ],
    ),
]

# What no tool is for.
SMALL_TALK = [
    'tell me a joke',
    'who won the world cup',
    'hello',
    'how are you',
    'thanks a lot',
    'what is the meaning of life',
    'write a poem about autumn',
    'who was Napoleon',
    'good morning',
    'can you help me',
    'why is the sky blue',
    'explain quantum physics',
    "what's your name",
    'I feel sad today',
    'recommend a good book',
    'how do magnets work',
    'what is love',
    'you are great',
    "what's 2+2?",
    'bye',
]
